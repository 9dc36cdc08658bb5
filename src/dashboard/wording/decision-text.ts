import type { RouterStatus } from '../../own-paths/status/status-schema.ts';
import type { ExplainedCandidate, Explanation } from '../../proxy/explain.ts';
import type { Decision, DecisionReason } from '../../routing/decision.ts';
import type { BadgeKind } from './markup.ts';
import { otherVersionText } from './preferred-version-text.ts';

/** What reasons mean, for people; a reason's own name is always shown with it. */
export const reasonTexts: Readonly<Record<DecisionReason, string>> = {
  NotAResourceRequest: 'It names no resource.',
  MergedDocument: 'The document is merged from what all servers serve.',
  AlreadyRerouted: 'A peer has sent it on already, and there is never a second hop.',
  NoSnapshot: 'There has been no snapshot yet.',
  ServedLocally: 'The local server serves it.',
  ExtensionAPIServer: 'An extension API server serves it.',
  CustomResource: 'It is a custom resource, which every server serves.',
  ServedByPeer: 'Peers serve it, and the local server does not.',
  PreferredVersion:
    'Servers of several versions serve it and differ: it is for the preferred version, or for the next one while no server of that is healthy.',
  PeerAddressUnknown: 'Peers serve it, but none of them has a usable address.',
  ServerDeparted: 'The API server that serves it has left, and may come back.',
  ServerNotKnown:
    'What an API server serves is not known yet: it was lost, or another process runs it, and it has not been read since.',
  NotServedByAnyServer: 'No server serves it.',
  LocalServerDown: 'No local server can serve it, and others can.',
  FeatureGateDisabled: 'The feature gate is off.',
};

const decisionTexts: Readonly<Record<Decision['decision'] | 'refused', string>> = {
  local: 'Local server',
  peer: 'Peer',
  unavailable: 'The response is 503',
  refused: 'Refused',
};

/**
 * What becomes now of requests for what the local server does not serve and others do. Ends a sentence. Pure.
 * @param differing how many such resources there are
 * @param unserved how many of them no healthy server serves
 */
export function reroutingText(
  { enabled, snapshot }: Pick<RouterStatus, 'enabled' | 'snapshot'>,
  differing: number,
  unserved: number,
): string {
  const them = `requests for ${differing === 1 ? 'it' : 'them'}`;
  if (!enabled) return `the feature gate is off, so ${them} get the 404 of the local server`;
  const isOld = snapshot?.old === true;
  const since = isOld ? 'the snapshot is old, and ' : '';
  if (unserved === differing) return `${since}${them} get 503: no healthy server serves them`;
  const server = isOld ? 'still go to one that did when it was made' : 'go to one that does';
  if (unserved === 0) return `${since}${them} ${server}`;
  const others = isOld ? server : 'go to a healthy server that does';
  return `${since}${them} ${others}, but ${unserved} of them get 503`;
}

interface Outcome {
  readonly kind: BadgeKind;
  readonly text: string;
  readonly detail: string;
}

interface OutcomeContext {
  readonly localServerId: string | null;
  readonly localServerIsDown: boolean;
  /** The APIService that covers it is not available. */
  readonly extensionIsUnavailable: boolean;
}

/**
 * Where a decision sends a request, as the start of a line. Merged documents are the router's own. By its version, the
 * local server may be one of those that a request could go to as to a peer.
 * @param ids of the servers that it could go to, or went to
 */
function destinationText(
  decision: Decision['decision'] | 'refused',
  reason: string,
  { ids, localServerId }: { readonly ids: readonly string[]; readonly localServerId: string | null },
): string {
  if (reason === 'MergedDocument' && decision === 'local') return 'Merged by the router';
  const others = ids.filter((id) => id !== localServerId);
  if (decision !== 'peer' || others.length === ids.length) return decisionTexts[decision];
  return others.length === 0 ? decisionTexts.local : 'Local server or a peer';
}

/** Never promises more than is known: a server that is down serves nothing, and a 404 is no success. Pure. */
export function outcomeOf(
  explanation: Explanation,
  { localServerId, localServerIsDown, extensionIsUnavailable }: OutcomeContext,
): Outcome {
  const { decision, reason, inPlaceOf, candidates, otherVersions = [], versionInstead } = explanation;
  const ids = usableServers(explanation).map(({ id }) => id);
  const text = destinationText(decision, inPlaceOf ?? reason, { ids, localServerId });
  const detail = detailOf(explanation);
  if (decision === 'refused' || decision === 'unavailable') return { kind: 'bad', text, detail };
  const everyone = [...candidates, ...otherVersions];
  if (decision === 'peer' && everyone.every(({ health }) => health === 'unhealthy')) {
    const down =
      'Every server that could serve it is unhealthy: one is tried, and unless it is back the response is 503.';
    return { kind: 'bad', text: 'No healthy server', detail: `${detail} ${down}` };
  }
  if (decision === 'local' && localServerIsDown) {
    return { kind: 'bad', text, detail: `${detail} It is down: unless it is back the response is 503.` };
  }
  if (extensionIsUnavailable && reason === 'ExtensionAPIServer') {
    return { kind: 'bad', text, detail: `${detail} That one is not available: the response is 503.` };
  }
  if ((inPlaceOf ?? reason) === 'NotServedByAnyServer') {
    const whose = decision === 'local' ? 'the local server' : 'the server that is asked';
    return { kind: 'warning', text: `404 of ${whose}`, detail };
  }
  if (versionInstead !== undefined) return { kind: 'warning', text, detail };
  const kind = decision === 'peer' && reason === 'MergedDocument' ? 'good' : kinds[inPlaceOf ?? reason];
  return { kind: kind ?? 'good', text, detail };
}

function detailOf({ reason, message = '', versionInstead }: Explanation): string {
  if (!isDecisionReason(reason)) return message;
  if (versionInstead === undefined) return reasonTexts[reason];
  const why =
    reason === 'PreferredVersion' ? 'Servers of several versions serve it and differ.' : reasonTexts[reason];
  return `${why} Version ${versionInsteadText(versionInstead)}.`;
}

/** That another version than the preferred one responds to a request, and which. Pure. */
export function versionInsteadText({
  preferred,
  responding,
}: NonNullable<Explanation['versionInstead']>): string {
  return `${preferred} is preferred, but ${otherVersionText(responding)}`;
}

/** Green is for a request that a server serves. */
const kinds: Readonly<Partial<Record<string, BadgeKind>>> = {
  MergedDocument: 'neutral',
  NoSnapshot: 'warning',
} satisfies Partial<Record<DecisionReason, BadgeKind>>;

function isDecisionReason(reason: Explanation['reason']): reason is DecisionReason {
  return Object.hasOwn(reasonTexts, reason);
}

/** Which server gets it, of those that could. Empty where none is asked. Pure. */
export function chosenText(
  explanation: Explanation,
  nameOf: (id: string) => string,
  local: string | null,
): string {
  const { decision } = explanation;
  if (decision === 'local') return local === null ? '' : `Would go to ${nameOf(local)}.`;
  if (decision !== 'peer') return '';
  const usable = usableServers(explanation);
  const [only] = usable;
  if (only === undefined) return '';
  if (usable.length === 1) return `Would go to ${nameOf(only.id)}.`;
  return `Would go to one of ${usable.length}: of two drawn at random, to the one with fewer requests in flight.`;
}

/** Those of a decision for a peer that are not known to be unhealthy, of the version that responds. */
function usableServers({
  candidates,
  otherVersions = [],
  versionInstead,
}: Explanation): readonly ExplainedCandidate[] {
  const asked = new Set(versionInstead?.serverIds ?? candidates.map(({ id }) => id));
  return [...candidates, ...otherVersions].filter(
    ({ id, health }) => health !== 'unhealthy' && asked.has(id),
  );
}

import type { Explanation } from '../../proxy/explain.ts';
import type { Decision, DecisionReason } from '../../routing/decision.ts';
import { decisionTexts, reasonTexts } from './decision-text.ts';
import type { BadgeKind } from './markup.ts';

/** What becomes of a request, in few words and in more. */
export interface Outcome {
  readonly kind: BadgeKind;
  readonly text: string;
  readonly detail: string;
}

/** What is known now of the servers that it could go to. */
export interface OutcomeContext {
  readonly localServerIsDown: boolean;
  /** The APIService that covers it is not available. */
  readonly extensionIsUnavailable: boolean;
}

/** Where a decision sends a request, as the start of a line. Merged documents are the router's own. */
export function destinationText(decision: Decision['decision'] | 'refused', reason: string): string {
  if (reason === 'MergedDocument' && decision === 'local') return 'Merged by the router';
  return decisionTexts[decision];
}

/** Never promises more than is known: a server that is down serves nothing, and a 404 is no success. Pure. */
export function outcomeOf(
  { decision, reason, inPlaceOf, message, candidates, otherVersions = [] }: Explanation,
  { localServerIsDown, extensionIsUnavailable }: OutcomeContext,
): Outcome {
  const text = destinationText(decision, inPlaceOf ?? reason);
  const detail = isDecisionReason(reason) ? reasonTexts[reason] : (message ?? '');
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
  if (extensionIsUnavailable && extensionReasons.has(reason)) {
    return { kind: 'bad', text, detail: `${detail} That one is not available: the response is 503.` };
  }
  if ((inPlaceOf ?? reason) === 'NotServedByAnyServer') {
    const whose = decision === 'local' ? 'the local server' : 'the server that is asked';
    return { kind: 'warning', text: `404 of ${whose}`, detail };
  }
  const kind = decision === 'peer' && reason === 'MergedDocument' ? 'good' : kinds[inPlaceOf ?? reason];
  return { kind: kind ?? 'good', text, detail };
}

const extensionReasons: ReadonlySet<string> = new Set<DecisionReason>([
  'ExtensionAPIServer',
  'ExtensionAPIServerAddressUnknown',
]);

/** Green is for a request that a server serves. */
const kinds: Readonly<Partial<Record<string, BadgeKind>>> = {
  MergedDocument: 'neutral',
  NoSnapshot: 'warning',
  SnapshotExpired: 'warning',
} satisfies Partial<Record<DecisionReason, BadgeKind>>;

function isDecisionReason(reason: Explanation['reason']): reason is DecisionReason {
  return Object.hasOwn(reasonTexts, reason);
}

/** Which server gets it, of those that could. Empty where none is asked. Pure. */
export function chosenText(
  { decision, candidates }: Explanation,
  nameOf: (id: string) => string,
  local: string | null,
): string {
  if (decision === 'local') return local === null ? '' : `Sent to ${nameOf(local)}.`;
  if (decision !== 'peer') return '';
  const usable = candidates.filter(({ health }) => health !== 'unhealthy');
  const [only] = usable;
  if (only === undefined) return '';
  if (usable.length === 1) return `Sent to ${nameOf(only.id)}.`;
  return `Sent to one of ${usable.length}: of two drawn at random, to the one with fewer requests in flight.`;
}

import { parseRequestInfo, type RequestInfo } from '../apimachinery/request-info.ts';
import { RequestInfoError, type RequestInfoErrorCode } from '../apimachinery/request-info-error.ts';
import { queryOf } from '../request/inbound.ts';
import { ownPathSpelling, ownPathsPrefix } from '../request/own-path-target.ts';
import { decide } from '../routing/decide.ts';
import type { Decision, DecisionContext, DecisionReason, DecisionStep } from '../routing/decision.ts';
import type { ServerStatus } from '../servers/server-book.ts';
import { isDownState } from '../servers/server-states.ts';
import type { SnapshotApiService } from '../snapshot/format/schema.ts';
import type { RoutingServer, RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { Decider, gateIsOff, isLocalServerDown } from './decider.ts';
import { isUnconfirmed } from './hold-back.ts';
import type { RouterSettings } from './options.ts';

export interface RequestToExplain {
  readonly method: string;
  /** A path with its query, or an absolute `https://` URL, whose authority is ignored. */
  readonly url: string;
}

/** True for what names a target at all. Which paths are refused is for the parser of requests to say. */
export function isUrlToExplain(text: string): boolean {
  return text.startsWith('/') || (/^https?:\/\//i.test(text) && URL.canParse(text));
}

export interface ExplainContext extends Omit<DecisionContext, 'reroutedByVerifiedPeer' | 'query' | 'trace'> {
  readonly enabled?: boolean | undefined;
  readonly healthOf?: ((id: string) => ServerStatus | undefined) | undefined;
  /** True if a request waits until its servers have confirmed what they are (`RoutingTableSource.confirmedAt`). Default: none does. */
  readonly isUnconfirmed?: ((requestInfo: RequestInfo, decision: Decision) => boolean) | undefined;
}

export interface ExplainedCandidate {
  readonly id: string;
  readonly address: string;
  readonly serverName: string;
  readonly health?: ServerStatus;
}

export interface Explanation {
  /** `null` for a request that is refused before it is decided. */
  readonly requestInfo: RequestInfo | null;
  readonly decision: Decision['decision'] | 'refused';
  readonly reason: DecisionReason | RequestInfoErrorCode;
  /** With `LocalServerDown`: why the request would have been the local server's. */
  readonly inPlaceOf?: DecisionReason;
  readonly message?: string;
  readonly candidates: readonly ExplainedCandidate[];
  /** Servers of other versions, which are asked when no candidate is healthy. Left out where the version does not matter. */
  readonly otherVersions?: readonly ExplainedCandidate[];
  /**
   * The version that responds in place of the preferred one, whose servers cannot be asked. Left out where the preferred
   * version responds, and where no server is healthy.
   */
  readonly versionInstead?: {
    /** Minor versions; `unknown` where that of a server is not known. */
    readonly preferred: string;
    readonly responding: string;
  };
  readonly notes: readonly string[];
  readonly trace: readonly DecisionStep[];
}

/**
 * Says where `request` would go, by the same functions that route it. Pure.
 *
 * @example
 * ```ts
 * const { decision, reason } = explainRequest({ method: 'GET', url: '/apis/batch/v1/jobs' }, table, {
 *   serverId,
 * });
 * console.log(decision, reason); // local ServedLocally
 * ```
 */
export function explainRequest(
  request: RequestToExplain,
  table: RoutingTable | undefined,
  context: ExplainContext,
): Explanation {
  const { method, url } = request;
  if (!isUrlToExplain(url)) {
    return refused(
      'AmbiguousRequestTarget',
      `write a path that begins with /, or an https:// URL, not ${url}`,
    );
  }
  const usual = method.toUpperCase();
  const notes = method === usual ? [] : [`${method} is not ${usual}: methods are case-sensitive`];
  const target = requestTarget(url);
  let requestInfo: RequestInfo;
  try {
    requestInfo = parseRequestInfo(method, target);
  } catch (error) {
    if (!(error instanceof RequestInfoError)) throw error;
    return refused(error.code, error.message, notes);
  }
  return explainAccepted(requestInfo, target, table, context, notes);
}

function refused(reason: Explanation['reason'], message: string, notes: readonly string[] = []): Explanation {
  return { requestInfo: null, decision: 'refused', reason, message, candidates: [], notes, trace: [] };
}

/** @param before notes on the request as it was written */
function explainAccepted(
  requestInfo: RequestInfo,
  target: string,
  table: RoutingTable | undefined,
  context: ExplainContext,
  before: readonly string[],
): Explanation {
  const { enabled = true, healthOf, localServerIsDown = false } = context;
  const notes = [...before];
  const trace: DecisionStep[] = [];
  const decision = enabled
    ? decide(requestInfo, table, {
        ...context,
        query: queryOf(target),
        reroutedByVerifiedPeer: false,
        trace: (rule, matched, detail) => trace.push({ rule, matched, detail }),
      })
    : gateIsOff;
  const candidates = explained(decision.candidates, healthOf);
  const versions = versionsOf(decision, healthOf);
  const ownNote = noteOnOwnPath(target, requestInfo.path);
  if (ownNote !== undefined) notes.push(ownNote);
  else {
    const apiService = table?.snapshot.apiServices.find(
      ({ group, version }) => group === requestInfo.apiGroup && version === requestInfo.apiVersion,
    );
    const servers = [...candidates, ...(versions.otherVersions ?? [])];
    notes.push(...outcomeNotes(decision, servers, localServerIsDown, apiService));
    if (context.isUnconfirmed?.(requestInfo, decision) === true) notes.push(unconfirmedNote);
  }
  const { decision: kind, reason } = decision;
  const inPlaceOf = decision.decision === 'peer' ? decision.inPlaceOf : undefined;
  return {
    requestInfo,
    decision: kind,
    reason,
    ...(inPlaceOf === undefined ? {} : { inPlaceOf }),
    candidates,
    ...versions,
    notes,
    trace,
  };
}

const unconfirmedNote =
  'the response is 503 (VersionNotConfirmed): for six seconds no server has confirmed its version, and versions differ in this resource';

/** Served by the router, whatever the API servers have under them. */
const ownDocuments = /^\/(livez|readyz|healthz)(\/|$)/;

function noteOnOwnPath(target: string, decoded: string): string | undefined {
  const [path = ''] = target.split('?', 1);
  switch (ownPathSpelling(target, decoded)) {
    case 'own':
      return `${path} is the router's own: it serves it itself, and sends it nowhere`;
    case 'disguised':
      return `the response is 400: paths under ${ownPathsPrefix} have no percent escapes and no doubled slashes`;
  }
  return ownDocuments.test(path)
    ? `the router serves ${path} about itself. A server's own is asked for at that server`
    : undefined;
}

/** Notes on outcomes of which the decision alone would promise too much. */
function outcomeNotes(
  decision: Decision,
  servers: readonly ExplainedCandidate[],
  isLocalDown: boolean,
  apiService: SnapshotApiService | undefined,
): string[] {
  if (decision.decision === 'unavailable') return ['the response is 503'];
  if (decision.reason === 'ExtensionAPIServer' && apiService?.available === false) {
    return ['its extension API server is not available: the response is 503'];
  }
  const isDown =
    decision.decision === 'local' ? isLocalDown : servers.every(({ health = '' }) => isDownState(health));
  if (isDown) return ['no server that could serve it is healthy: unless one is back the response is 503'];
  const inPlaceOf = decision.decision === 'peer' ? decision.inPlaceOf : undefined;
  return (inPlaceOf ?? decision.reason) === 'NotServedByAnyServer'
    ? ['the response is the 404 of the server that is asked']
    : [];
}

/** As `ServerChoice` orders and chooses: the first version that has a server which is not down. */
function versionsOf(
  decision: Decision,
  healthOf: ExplainContext['healthOf'],
): Pick<Explanation, 'otherVersions' | 'versionInstead'> {
  if (decision.decision !== 'peer' || decision.versions === undefined) return {};
  const { versions, candidates } = decision;
  const { preferred = 'unknown', asked, others } = versions;
  const responding = [{ minor: asked, reachable: candidates }, ...others].find(({ reachable }) =>
    reachable.some(({ id }) => !isDownState(healthOf?.(id) ?? '')),
  );
  const { minor = 'unknown' } = responding ?? {};
  const isInstead = responding !== undefined && minor !== preferred;
  const otherServers = others.flatMap(({ reachable }) => reachable);
  return {
    ...(otherServers.length === 0 ? {} : { otherVersions: explained(otherServers, healthOf) }),
    ...(isInstead ? { versionInstead: { preferred, responding: minor } } : {}),
  };
}

function explained(
  servers: readonly RoutingServer[],
  healthOf: ExplainContext['healthOf'],
): readonly ExplainedCandidate[] {
  return servers.flatMap(({ id, origin, serverName }) => {
    if (origin === undefined) return [];
    const health = healthOf?.(id);
    const address = origin.slice('https://'.length);
    return { id, address, serverName, ...(health === undefined ? {} : { health }) };
  });
}

/**
 * The request target that a client would send. A URL parser is not used: it would resolve dot segments and convert
 * backslashes, and so hide what the router refuses.
 */
function requestTarget(url: string): string {
  const authority = /^https?:\/\/[^/?#\\]*/i.exec(url)?.[0];
  if (authority === undefined) return url;
  const [target = ''] = url.slice(authority.length).split('#', 1);
  return target === '' || target.startsWith('?') ? `/${target}` : target;
}

export function explainHere(request: RequestToExplain, settings: RouterSettings): Explanation {
  const { health, steadyClock, preferredVersion, enabled } = settings;
  const view = new Decider(settings).view();
  return explainRequest(request, view.known, {
    serverId: view.local?.id,
    localServerIsDown: isLocalServerDown(view, settings),
    now: steadyClock(),
    preferredVersion,
    enabled,
    healthOf: (id) => health?.report(id)?.status,
    isUnconfirmed: (requestInfo, decision) => isUnconfirmed({ requestInfo, decision, view }, settings),
  });
}

import type { RoutingServer } from '../snapshot/routing-table/routing-table.ts';
import type { Decision, DecisionContext } from './decision.ts';

/**
 * What becomes of a decision for the local server. In the sidecar form it stands while that server is up; while it
 * is down, `candidates` other than it take its place, if there are any. In the gateway form they always do.
 * @param candidates servers that can serve the request as well, each with an address.
 */
export function inPlaceOfLocal(
  local: Decision,
  candidates: readonly RoutingServer[],
  { serverId, localServerIsDown }: Pick<DecisionContext, 'serverId' | 'localServerIsDown'>,
): Decision {
  if (serverId === undefined) {
    return candidates.length === 0
      ? noServerHasAnAddress
      : { decision: 'peer', reason: local.reason, candidates };
  }
  if (localServerIsDown !== true) return local;
  const others = candidates.filter(({ id }) => id !== serverId);
  // Without another candidate the local server is tried nevertheless: it may be back.
  if (others.length === 0) return local;
  // A merged document stays one: what the server says is only whether the caller may read it.
  if (local.reason === 'MergedDocument') {
    return { decision: 'peer', reason: local.reason, candidates: others };
  }
  return { decision: 'peer', reason: 'LocalServerDown', inPlaceOf: local.reason, candidates: others };
}

const noServerHasAnAddress: Decision = Object.freeze({
  decision: 'unavailable',
  reason: 'PeerAddressUnknown',
  candidates: [] as const,
});

/**
 * Whether a path that names no resource is about the cluster, so that every server's response will do: discovery,
 * OpenAPI, version and the issuer of service account tokens. What else there is (`/metrics`, `/logs`, `/debug`,
 * `/configz`, `/statusz`, `/flagz`) is about one server, and must not be another's under its name.
 */
export function isClusterPath(path: string): boolean {
  return /^\/(api|apis|openapi|version|\.well-known|openid)(\/|$)/.test(path);
}

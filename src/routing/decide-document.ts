import type { RequestInfo } from '../apimachinery/request-info.ts';
import { compareServerVersions } from '../apimachinery/server-version.ts';
import { openApiV2Path, parseDiscoveryPath } from '../discovery/forms/discovery-path.ts';
import { openApiV3Servers } from '../discovery/openapi-v3/openapi-v3.ts';
import type { RoutingServer, RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { type Decision, type DecisionContext, localDecision, unavailableDecision } from './decision.ts';
import { decideByVersion } from './preferred-version.ts';

const mergedByTheRouter = localDecision('MergedDocument');
const heldByLocal = localDecision('NotAResourceRequest');
const outOfReach = unavailableDecision('PeerAddressUnknown');
const ofDepartedServer = unavailableDecision('ServerDeparted');
const notKnown = unavailableDecision('ServerNotKnown');

/**
 * The exceptions of rule 1: discovery is merged by the router itself, once the local server has let the caller
 * read the path; an OpenAPI v3 document is one server's own and comes from a server that holds it; OpenAPI v2 comes from
 * a server of the newest version. `undefined` for everything else, and for a caller that must see the local view: a peer
 * that rerouted the request, or anyone while nothing is known of the cluster. Pure.
 */
export function decideDocument(
  requestInfo: RequestInfo,
  table: RoutingTable | undefined,
  context: DecisionContext,
): Decision | undefined {
  if (table === undefined || context.reroutedByVerifiedPeer) return undefined;
  if (isMerged(requestInfo, table)) {
    const decision = inPlaceOfLocal(mergedByTheRouter, table.reachable, table, context);
    return decision.decision === 'peer' ? { ...decision, isInOrder: true } : decision;
  }
  if (requestInfo.path === openApiV2Path) return decideOpenApiV2(requestInfo, table, context);
  const { serverId, localServerIsDown = false } = context;
  const { path } = requestInfo;
  const holders = openApiV3Servers(
    path,
    context.query ?? '',
    table,
    localServerIsDown ? serverId : undefined,
  );
  if (holders === undefined) return undefined;
  const others = holders.reachable.filter(({ id }) => id !== serverId);
  const isHeldLocally = serverId !== undefined && holders.serverIds.has(serverId);
  if (isHeldLocally && !localServerIsDown) return undefined;
  // Without another holder the local server is tried nevertheless: any other server would respond with 404.
  if (isHeldLocally && others.length === 0) {
    return table.server(serverId)?.missing === undefined ? heldByLocal : notKnown;
  }
  if (others.length > 0) return { decision: 'peer', reason: 'MergedDocument', candidates: others };
  return withoutReachableServer(holders.servers);
}

/** What becomes of a request that only servers without an address can respond to. */
export function withoutReachableServer(servers: readonly RoutingServer[]): Decision {
  if (servers.some(({ missing }) => missing !== undefined)) return notKnown;
  return servers.some(({ departed }) => departed) ? ofDepartedServer : outOfReach;
}

/**
 * The document has tens of megabytes in large clusters, and the newest version's has nearly all of it: it is routed, not
 * merged. Where no server of that version can be asked, the next one's is still a document.
 */
function decideOpenApiV2(
  requestInfo: RequestInfo,
  table: RoutingTable,
  context: DecisionContext,
): Decision | undefined {
  const [newest] = table.servers
    .flatMap(({ minor }) => minor ?? [])
    .sort((left, right) => compareServerVersions(right, left));
  if (newest === undefined) return undefined;
  const byVersion = table.everyServer.byPreference(newest);
  const decision = decideByVersion(byVersion, requestInfo, table, context, 'MergedDocument');
  return decision?.decision === 'peer' ? { ...decision, reason: 'MergedDocument' } : decision;
}

/**
 * Whether the router responds itself, as far as method and path tell: the form asked for may not be merged.
 */
function isMerged({ verb, path }: RequestInfo, table: RoutingTable): boolean {
  if (verb !== 'get' && verb !== 'head') return false;
  const document = parseDiscoveryPath(path);
  if (document === undefined) return false;
  return Object.values(table.snapshot.servedSets).some(({ discovery, openapiV3 }) =>
    document.kind === 'openapi-v3' ? openapiV3 !== undefined : discovery !== undefined,
  );
}

/**
 * What becomes of a decision for the local server. In the sidecar form it stands while that server is up; while it
 * is down, `candidates` other than it take its place, if there are any. In the gateway form they always do.
 * @param candidates servers that can serve the request as well, each with an address.
 */
export function inPlaceOfLocal(
  local: Decision,
  candidates: readonly RoutingServer[],
  table: RoutingTable,
  { serverId, localServerIsDown }: Pick<DecisionContext, 'serverId' | 'localServerIsDown'>,
): Decision {
  if (serverId === undefined) {
    return candidates.length === 0
      ? withoutReachableServer(table.servers)
      : { decision: 'peer', reason: local.reason, candidates };
  }
  if (localServerIsDown !== true) return local;
  const others = candidates.filter(({ id }) => id !== serverId);
  // Without another candidate the local server is tried nevertheless: it may be back. One that is not known is not.
  if (others.length === 0) return table.server(serverId)?.missing === undefined ? local : notKnown;
  // A merged document stays one: what the server says is only whether the caller may read it.
  if (local.reason === 'MergedDocument') {
    return { decision: 'peer', reason: local.reason, candidates: others };
  }
  return { decision: 'peer', reason: 'LocalServerDown', inPlaceOf: local.reason, candidates: others };
}

/**
 * Whether a path that names no resource is about the cluster, so that every server's response will do: discovery,
 * OpenAPI, version and the issuer of service account tokens. What else there is (`/metrics`, `/logs`, `/debug`,
 * `/configz`, `/statusz`, `/flagz`) is about one server, and must not be another's under its name.
 */
export function isClusterPath(path: string): boolean {
  return /^\/(api|apis|openapi|version|\.well-known|openid)(\/|$)/.test(path);
}

import type { RequestInfo } from '../apimachinery/request-info.ts';
import { compareCountedVersions } from '../apimachinery/server-version.ts';
import { openApiV2Path, parseDiscoveryPath } from '../discovery/forms/discovery-path.ts';
import { openApiV3Servers } from '../discovery/forms/openapi-v3.ts';
import {
  mayComeBack,
  type RoutingServer,
  type RoutingTable,
  type ServedBy,
} from '../snapshot/routing-table/routing-table.ts';
import { type Decision, type DecisionContext, localDecision, unavailableDecision } from './decision.ts';
import {
  describeExtension,
  describeLocal,
  describeNobody,
  describePreference,
  describeReachable,
  describeServers,
} from './decision-trace.ts';
import {
  comingPreference,
  decideByVersion,
  preferredMinor,
  serversByPreference,
} from './preferred-version.ts';

const none = [] as const;
const notAResourceRequest = localDecision('NotAResourceRequest');
const alreadyRerouted = localDecision('AlreadyRerouted');
const localWithoutSnapshot = localDecision('NoSnapshot');
const unavailableWithoutSnapshot = unavailableDecision('NoSnapshot');
const servedLocally = localDecision('ServedLocally');
const extensionThroughLocalAggregator = localDecision('ExtensionAPIServer');
const customResource = localDecision('CustomResource');
const serverNotKnown = unavailableDecision('ServerNotKnown');
const notServedByAnyServer = localDecision('NotServedByAnyServer');
const reroutedToGateway = unavailableDecision('AlreadyRerouted');

/**
 * Where one request goes, and why: the rules of docs/explanation/architecture.md, first match wins. In the gateway form,
 * and while the local server is down, what a rule gives to the local server goes to any that can serve it. Pure.
 *
 * @example
 * ```ts
 * const requestInfo = parseRequestInfo('GET', '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies');
 * const { decision, reason } = decide(requestInfo, table, {
 *   serverId,
 *   reroutedByVerifiedPeer: false,
 * });
 * console.log(decision, reason); // peer ServedByPeer
 * ```
 */
export function decide(
  requestInfo: RequestInfo,
  table: RoutingTable | undefined,
  given: DecisionContext,
): Decision {
  const { serverId, trace } = given;
  // The local server gets nothing that depends on what it serves while that is not known.
  const isLocalKnown = serverId === undefined || table?.server(serverId)?.missing === undefined;
  const context = isLocalKnown ? given : { ...given, localServerIsDown: true };

  if (!requestInfo.isResourceRequest) {
    const document = decideDocument(requestInfo, table, context);
    const what = document === undefined ? 'names no resource' : 'is a document of the whole cluster';
    trace?.('1 Does it name no resource?', true, `${requestInfo.path} ${what}`);
    return document ?? decideOtherPath(requestInfo, table, context);
  }
  trace?.('1 Does it name no resource?', false, requestInfo.resource);

  const { reroutedByVerifiedPeer: isRerouted } = context;
  const mark = isRerouted ? 'marked by a verified peer' : 'no mark from a verified peer';
  trace?.('2 Has a peer rerouted it?', isRerouted, mark);
  // A gateway has no local server for it: the sender mistakes the gateway for an API server.
  if (isRerouted) return serverId === undefined ? reroutedToGateway : alreadyRerouted;

  trace?.(
    '3 Is there no snapshot?',
    table === undefined,
    table === undefined ? 'there has been none' : `generation ${table.generation}`,
  );
  // Not knowing is not the same as not existing: a 404 of the local server becomes 503 (`provesNothing`).
  if (table === undefined) return serverId === undefined ? unavailableWithoutSnapshot : localWithoutSnapshot;
  return decideByTable(requestInfo, table, context);
}

/** Rules 3a to 9: who serves the resource, by the snapshot. */
function decideByTable(requestInfo: RequestInfo, table: RoutingTable, context: DecisionContext): Decision {
  const { serverId, trace } = context;
  const { apiGroup, apiVersion } = requestInfo;
  const servedBy = serversOf(requestInfo, table);
  const byVersion = table.comparison && decideAmongVersions(requestInfo, servedBy, table, context);
  if (byVersion !== undefined) return byVersion;

  const local = serverId !== undefined && servedBy?.serverIds.has(serverId) === true;
  trace?.('4 Does the local server serve it?', local, describeLocal(servedBy, context));
  if (local) return inPlaceOfLocal(servedLocally, servedBy.reachable, table, context);

  const extension = table.extension(apiGroup, apiVersion);
  trace?.('5 Is it an extension API?', extension !== undefined, describeExtension(extension));
  // Every server aggregates: they share their APIService objects.
  if (extension !== undefined)
    return inPlaceOfLocal(extensionThroughLocalAggregator, table.reachable, table, context);

  const custom = table.isCustomResource(apiGroup, apiVersion);
  const why = custom ? 'every server serves custom resources' : 'no CRD has its group version';
  trace?.('6 Is it a custom resource?', custom, why);
  if (custom) return inPlaceOfLocal(customResource, table.reachable, table, context);

  const reachable = servedBy === undefined ? none : servedBy.reachable;
  trace?.('7 Does a peer serve it?', reachable.length > 0, describeReachable(reachable));
  if (reachable.length > 0) return { decision: 'peer', reason: 'ServedByPeer', candidates: reachable };

  trace?.(
    '8 Does a peer out of reach serve it?',
    servedBy !== undefined,
    `served by ${describeServers(servedBy)}`,
  );
  if (servedBy !== undefined) return withoutReachableServer(servedBy.servers);

  const notKnown = table.isEveryServerKnown
    ? none
    : table.servers.filter(({ missing }) => mayComeBack(missing));
  trace?.('9 Does no server serve it?', true, describeNobody(notKnown, context));
  if (notKnown.length > 0) return serverNotKnown;
  return inPlaceOfLocal(notServedByAnyServer, table.reachable, table, context);
}

/** Rule 3a: the servers that could respond are of several versions, and it matters which one does. */
function decideAmongVersions(
  requestInfo: RequestInfo,
  servedBy: ServedBy | undefined,
  table: RoutingTable,
  context: DecisionContext,
): Decision | undefined {
  const byPreference = serversByPreference(requestInfo, servedBy, table, context);
  const locally = servedBy === undefined ? 'CustomResource' : 'ServedLocally';
  const decision = byPreference && decideByVersion(byPreference, table, context, locally);
  context.trace?.(
    '3a Does it matter which version answers?',
    decision !== undefined,
    describePreference(byPreference, table, context),
  );
  return decision;
}

/**
 * How long a request has to wait because the version that is to respond changes in a moment, milliseconds. 0 for nearly
 * every request: nothing changes, or all versions would respond alike. Pure.
 *
 * Routers learn a little apart when the version changes, and their clocks differ. From the first instant at which another
 * router may have changed, and for two seconds at least, the version of before gets nothing new: else a router that is late
 * would let an object lose the field that another router has just stored through the new version.
 */
export function untilVersionSettles(
  requestInfo: RequestInfo,
  table: RoutingTable | undefined,
  { now = Number.POSITIVE_INFINITY, preferredVersion }: Pick<DecisionContext, 'now' | 'preferredVersion'>,
): number {
  if (table?.comparison === undefined || table.comparison.before.length === 0) return 0;
  const coming = comingPreference(table, preferredVersion, now);
  if (coming === undefined || now < coming.waitFrom) return 0;
  return dependsOnVersion(requestInfo, table, { now, preferredVersion }) ? coming.at - now : 0;
}

/** True if it matters which version responds, or may matter once the servers are of several. Pure. */
export function dependsOnVersion(
  requestInfo: RequestInfo,
  table: RoutingTable,
  context: Pick<DecisionContext, 'now' | 'preferredVersion'>,
): boolean {
  if (!requestInfo.isResourceRequest) return false;
  // Servers of one version are compared with nothing, and may have been of others a moment ago.
  if (table.comparison === undefined || table.comparison.minors.length < 2) return true;
  return serversByPreference(requestInfo, serversOf(requestInfo, table), table, context) !== undefined;
}

function decideOtherPath(
  { path }: RequestInfo,
  table: RoutingTable | undefined,
  context: DecisionContext,
): Decision {
  if (context.serverId === undefined) {
    if (table === undefined) return unavailableWithoutSnapshot;
    // To pass it on would be its second hop.
    if (context.reroutedByVerifiedPeer) return reroutedToGateway;
    // A client that asks twice for /version, or for the keys of the issuer, is not told of two clusters.
    const preferred = preferredMinor(table, context.preferredVersion, context.now);
    const byVersion = preferred === undefined ? [] : table.everyServer.byPreference(preferred);
    const decision = decideByVersion(byVersion, table, context, 'NotAResourceRequest');
    if (decision !== undefined) return { ...decision, reason: 'NotAResourceRequest' };
  } else if (context.reroutedByVerifiedPeer) {
    // So the peer's router is told when this one's server is down, and asks another.
    return alreadyRerouted;
  } else if (!isClusterPath(path)) {
    return notAResourceRequest;
  } else if (table === undefined) {
    // A 404 for the discovery of a group version proves as little as one for its resources.
    return localWithoutSnapshot;
  }
  return inPlaceOfLocal(notAResourceRequest, table.reachable, table, context);
}

export function isServedByDepartedServer(requestInfo: RequestInfo, table: RoutingTable | undefined): boolean {
  return (
    table !== undefined &&
    serversOf(requestInfo, table)?.servers.some(({ departed, missing }) => departed || missing) === true
  );
}

type NamedResource = Pick<RequestInfo, 'apiGroup' | 'apiVersion' | 'resource' | 'subresource'>;

/** The servers of a resource, or of a subresource of one; `undefined` when no server serves it. Pure. */
export function serversOf(
  { apiGroup, apiVersion, resource, subresource }: NamedResource,
  table: RoutingTable,
): ServedBy | undefined {
  const route = table.resource(apiGroup, apiVersion, resource);
  return subresource === '' ? route : route?.subresource(subresource);
}

const mergedByTheRouter = localDecision('MergedDocument');
const outOfReach = unavailableDecision('PeerAddressUnknown');
const ofDepartedServer = unavailableDecision('ServerDeparted');

/**
 * The exceptions of rule 1: discovery is merged by the router itself, once the local server has let the caller read the path;
 * an OpenAPI v3 document comes from a server that holds it; OpenAPI v2 from a server of the newest version. `undefined` for
 * everything else, and for a caller that must see the local view.
 */
function decideDocument(
  requestInfo: RequestInfo,
  table: RoutingTable | undefined,
  context: DecisionContext,
): Decision | undefined {
  if (table === undefined || context.reroutedByVerifiedPeer) return undefined;
  if (isMerged(requestInfo, table)) {
    const decision = inPlaceOfLocal(mergedByTheRouter, table.reachable, table, context);
    return decision.decision === 'peer' ? { ...decision, isInOrder: true } : decision;
  }
  if (requestInfo.path === openApiV2Path) return decideOpenApiV2(table, context);
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
    return table.server(serverId)?.missing === undefined ? notAResourceRequest : serverNotKnown;
  }
  if (others.length > 0) return { decision: 'peer', reason: 'MergedDocument', candidates: others };
  return withoutReachableServer(holders.servers);
}

function withoutReachableServer(servers: readonly RoutingServer[]): Decision {
  if (servers.some(({ departed }) => departed)) return ofDepartedServer;
  return servers.some(({ missing }) => missing) ? serverNotKnown : outOfReach;
}

/** The document has tens of megabytes in large clusters: it is routed to the newest version, not merged. */
function decideOpenApiV2(table: RoutingTable, context: DecisionContext): Decision | undefined {
  const [newest] = table.servers
    .flatMap(({ minor }) => minor ?? [])
    .sort((left, right) => compareCountedVersions(right, left));
  if (newest === undefined) return undefined;
  const byVersion = table.everyServer.byPreference(newest);
  const decision = decideByVersion(byVersion, table, context, 'MergedDocument');
  return decision && { ...decision, reason: 'MergedDocument' };
}

/** The form asked for may not be merged. */
function isMerged({ verb, path }: RequestInfo, table: RoutingTable): boolean {
  if (verb !== 'get' && verb !== 'head') return false;
  const document = parseDiscoveryPath(path);
  if (document === undefined) return false;
  return Object.values(table.snapshot.servedSets).some(({ discovery, openapiV3 }) =>
    document.kind === 'openapi-v3' ? openapiV3 !== undefined : discovery !== undefined,
  );
}

/**
 * In the sidecar form it stands while the local server is up; while it is down, other candidates take its place, if there are
 * any. In the gateway form they always do.
 * @param candidates servers that can serve the request as well, each with an address.
 */
function inPlaceOfLocal(
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
  // Without another candidate the local server is tried nevertheless: it may be back. A server that is not known is not tried.
  if (others.length === 0) return table.server(serverId)?.missing === undefined ? local : serverNotKnown;
  // A merged document stays one: what the server says is only whether the caller may read it.
  if (local.reason === 'MergedDocument') {
    return { decision: 'peer', reason: local.reason, candidates: others };
  }
  return { decision: 'peer', reason: 'LocalServerDown', inPlaceOf: local.reason, candidates: others };
}

/**
 * True if every server's response will do: discovery, OpenAPI, version and the issuer of service account tokens. Any
 * other path (`/metrics`, `/logs`, `/debug`, `/configz`) is about one server. Its response must not be another server's
 * under its name.
 */
export function isClusterPath(path: string): boolean {
  return /^\/(api|apis|openapi|version|\.well-known|openid)(\/|$)/.test(path);
}

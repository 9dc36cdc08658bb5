import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { SnapshotApiService } from '../snapshot/format/types.ts';
import type {
  ResourceRoute,
  RoutingServer,
  RoutingTable,
  ServedBy,
  ServersOfVersion,
} from '../snapshot/routing-table/routing-table.ts';
import { decideDocument, inPlaceOfLocal, isClusterPath, withoutReachableServer } from './decide-document.ts';
import { type Decision, type DecisionContext, localDecision, unavailableDecision } from './decision.ts';
import { comingPreference, decideByVersion, serversByPreference } from './preferred-version.ts';

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
 * const requestInfo = parseRequestInfo('GET', '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies');
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
  const context = isLocalServerKnown(table, given) ? given : { ...given, localServerIsDown: true };
  const { trace } = context;

  if (!requestInfo.isResourceRequest) {
    const document = decideDocument(requestInfo, table, context);
    trace?.push({
      rule: '1 not a resource request',
      matched: true,
      detail: `${requestInfo.path} ${document === undefined ? 'names no resource' : 'is a document of the whole cluster'}`,
    });
    return document ?? decideOtherPath(requestInfo, table, context);
  }
  trace?.push({ rule: '1 not a resource request', matched: false, detail: 'it names a resource' });

  trace?.push({
    rule: '2 rerouted by a peer already',
    matched: context.reroutedByVerifiedPeer,
    detail: context.reroutedByVerifiedPeer ? 'marked by a verified peer' : 'no mark from a verified peer',
  });
  // A gateway has no local server for it: the sender mistakes the gateway for an API server.
  if (context.reroutedByVerifiedPeer)
    return context.serverId === undefined ? reroutedToGateway : alreadyRerouted;

  trace?.push({
    rule: '3 no snapshot yet',
    matched: table === undefined,
    detail: table === undefined ? 'there has been none' : `generation ${table.generation}`,
  });
  // Not knowing is not the same as not existing: a 404 of the local server becomes 503 (`isNotKnownYet`).
  if (table === undefined)
    return context.serverId === undefined ? unavailableWithoutSnapshot : localWithoutSnapshot;

  const { apiGroup, apiVersion, resource, subresource } = requestInfo;
  const route = table.resource(apiGroup, apiVersion, resource);
  const servedBy = subresource === '' ? route : route?.subresource(subresource);

  const byVersion = decideAmongVersions(requestInfo, route, servedBy, table, context);
  if (byVersion !== undefined) return byVersion;

  const { serverId } = context;
  const local = serverId !== undefined && servedBy?.serverIds.has(serverId) === true;
  trace?.push({
    rule: '4 the local server serves it',
    matched: local,
    detail: `served by ${describeServers(servedBy)}; ${describeLocal(context)}`,
  });
  if (local) return inPlaceOfLocal(servedLocally, servedBy.reachable, table, context);

  const extension = table.extension(apiGroup, apiVersion);
  trace?.push({
    rule: '5 an extension API server covers the group version',
    matched: extension !== undefined,
    detail: describeExtension(extension),
  });
  // Every server aggregates: they share their APIService objects.
  if (extension !== undefined)
    return inPlaceOfLocal(extensionThroughLocalAggregator, table.reachable, table, context);

  const custom = table.isCustomResource(apiGroup, apiVersion);
  trace?.push({
    rule: '6 the group is served through CustomResourceDefinitions',
    matched: custom,
    detail: custom ? 'every server serves custom resources' : 'it is not',
  });
  if (custom) return inPlaceOfLocal(customResource, table.reachable, table, context);

  const reachable = servedBy === undefined ? none : servedBy.reachable;
  trace?.push({
    rule: '7 peers serve it',
    matched: reachable.length > 0,
    detail: `reachable: ${reachable.length === 0 ? 'none' : reachable.map((server) => server.id).join(', ')}`,
  });
  if (reachable.length > 0) return { decision: 'peer', reason: 'ServedByPeer', candidates: reachable };

  const withoutAddress = servedBy !== undefined;
  trace?.push({
    rule: '8 peers serve it, none has a usable address',
    matched: withoutAddress,
    detail: `served by ${describeServers(servedBy)}`,
  });
  if (withoutAddress) return withoutReachableServer(servedBy.servers);

  const notKnown = table.isEveryServerKnown ? none : table.servers.filter(isNotKnown);
  trace?.push({
    rule: '9 no server serves it',
    matched: true,
    detail:
      notKnown.length === 0
        ? `${serverId === undefined ? 'any' : 'the local'} server responds with 404 itself`
        : `but what these serve is not known yet: ${notKnown.map(describeServer).join(', ')}`,
  });
  if (notKnown.length > 0) return serverNotKnown;
  return inPlaceOfLocal(notServedByAnyServer, table.reachable, table, context);
}

/** The local server gets nothing that depends on what it serves while that is not table. */
function isLocalServerKnown(table: RoutingTable | undefined, { serverId }: DecisionContext): boolean {
  return serverId === undefined || table?.server(serverId)?.missing === undefined;
}

function isNotKnown({ missing }: RoutingServer): boolean {
  return missing !== undefined && missing !== 'down';
}

/** Rule 3a: the servers that could respond are of several versions, and it matters which one does. */
function decideAmongVersions(
  requestInfo: RequestInfo,
  route: ResourceRoute | undefined,
  servedBy: ServedBy | undefined,
  table: RoutingTable,
  context: DecisionContext,
): Decision | undefined {
  if (table.comparison === undefined) return undefined;
  const { apiGroup, apiVersion } = requestInfo;
  const isCustom = servedBy === undefined && table.isCustomResource(apiGroup, apiVersion);
  const byPreference =
    table.extension(apiGroup, apiVersion) === undefined
      ? serversByPreference(
          requestInfo,
          route,
          servedBy,
          table,
          isCustom,
          context.now,
          context.preferredVersion,
        )
      : undefined;
  const decision =
    byPreference &&
    decideByVersion(byPreference, requestInfo, table, context, isCustom ? 'CustomResource' : 'ServedLocally');
  context.trace?.push({
    rule: '3a it matters which version responds',
    matched: decision !== undefined,
    detail: describePreference(byPreference, table, context),
  });
  return decision;
}

function describePreference(
  byPreference: readonly ServersOfVersion[] | undefined,
  table: RoutingTable,
  context: DecisionContext,
): string {
  const [first] = byPreference ?? [];
  if (byPreference === undefined || first === undefined) return 'the servers that serve it agree';
  const order = byPreference.map(({ minor = 'unknown' }) => minor).join(', ');
  const { serverId } = context;
  const isLocals = serverId !== undefined && first.serverIds.has(serverId);
  const coming = comingPreference(table, context.preferredVersion, context.now);
  const changes = coming && `; from ${new Date(coming.at).toISOString()} on ${coming.minor} is the first`;
  const why = table.comparison?.isComplete === false ? 'are not compared yet' : 'differ';
  return `its servers ${why}; versions in order of preference: ${order}${isLocals ? '; the local server has the first' : ''}${changes ?? ''}`;
}

/** Rule 1, for paths whose response is one server's own. */
function decideOtherPath(
  { path }: RequestInfo,
  table: RoutingTable | undefined,
  context: DecisionContext,
): Decision {
  if (context.serverId === undefined) {
    if (table === undefined) return unavailableWithoutSnapshot;
    // To pass it on would be its second hop.
    if (context.reroutedByVerifiedPeer) return reroutedToGateway;
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

/** Whether a server that left for a while, or is not known, is said to serve this. Pure. */
export function isServedByDepartedServer(requestInfo: RequestInfo, table: RoutingTable | undefined): boolean {
  return (
    table !== undefined &&
    serversOf(requestInfo, table)?.servers.some(
      ({ departed, missing }) => departed || missing !== undefined,
    ) === true
  );
}

/** Who serves the resource or the subresource. */
function serversOf(
  { apiGroup, apiVersion, resource, subresource }: RequestInfo,
  table: RoutingTable,
): ServedBy | undefined {
  const route = table.resource(apiGroup, apiVersion, resource);
  return subresource === '' ? route : route?.subresource(subresource);
}

function describeServers(servedBy: ServedBy | undefined): string {
  if (servedBy === undefined) return 'no server';
  return servedBy.servers.map(describeServer).join(', ');
}

function describeServer({ id, departed, missing }: RoutingServer): string {
  if (missing !== undefined) return `${id} (not known: ${missing})`;
  return departed ? `${id} (departed)` : id;
}

function describeLocal({ serverId, localServerIsDown }: DecisionContext): string {
  if (serverId === undefined) return 'no server is local to a gateway';
  return `local is ${serverId}${localServerIsDown === true ? ', which is down' : ''}`;
}

function describeExtension(apiService: SnapshotApiService | undefined): string {
  if (apiService?.service === undefined) return 'no APIService with a service';
  const { namespace, name } = apiService.service;
  return `${name}.${namespace}.svc, ${apiService.available ? 'available' : 'not available'}`;
}

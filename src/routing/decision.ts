import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { SnapshotApiService } from '../snapshot/format/types.ts';
import {
  isExpired,
  type ResourceRoute,
  type RoutingServer,
  type RoutingTable,
  type ServedBy,
} from '../snapshot/routing-table/routing-table.ts';
import { inPlaceOfLocal, isClusterPath } from './any-server.ts';
import { decideDocument } from './decide-document.ts';

/**
 * What to do with a snapshot that is past its lifetime: go on by it (`serve-stale`); give the local server all but what
 * only peers were known to serve, which is 503 (`local`); 503 for every resource (`unavailable`). Without any
 * snapshot, `unavailable` is 503 and the others ask the local server, whose 404s become 503.
 */
export type StalePolicy = 'local' | 'serve-stale' | 'unavailable';

/**
 * An old snapshot is still the best that is known: without it a sync job that stopped would turn what only peers
 * serve into 404s, on every router at once.
 */
export const defaultStalePolicy: StalePolicy = 'serve-stale';

/** Everything a decision depends on besides the request and the routing table. */
export interface DecisionContext {
  /** ID of the local API server. Left out in the gateway form: no server is closer than another. */
  readonly serverId?: string | undefined;
  /** Send what is the local server's, and others serve too, to one of those. Default false. */
  readonly localServerIsDown?: boolean | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Query of the request target without `?`; it chooses between OpenAPI documents. */
  readonly query?: string | undefined;
  /** The request carries the reroute mark, and its sender is a verified peer. */
  readonly reroutedByVerifiedPeer: boolean;
  readonly stalePolicy: StalePolicy;
  /** Whether requests for aggregated APIs go to the local aggregator or straight to the extension server. */
  readonly extensionRouting: 'local' | 'extension';
  /** Collects every rule that was looked at, in order. Left out on the request path. */
  readonly trace?: DecisionStep[] | undefined;
}

export interface DecisionStep {
  /** Number of the rule in the design's list, and what it asks. */
  readonly rule: string;
  readonly matched: boolean;
  readonly detail: string;
}

/** Stable, machine-readable. */
export type DecisionReason =
  | 'NotAResourceRequest'
  | 'MergedDocument'
  | 'AlreadyRerouted'
  | 'NoSnapshot'
  | 'SnapshotExpired'
  | 'ServedLocally'
  | 'ExtensionAPIServer'
  | 'ExtensionAPIServerUnavailable'
  | 'ExtensionAPIServerAddressUnknown'
  | 'CustomResource'
  | 'ServedByPeer'
  | 'PeerAddressUnknown'
  | 'ServerDeparted'
  | 'NotServedByAnyServer'
  | 'LocalServerDown'
  | 'FeatureGateDisabled';

export type Decision =
  | { readonly decision: 'local'; readonly reason: DecisionReason; readonly candidates: readonly [] }
  | {
      readonly decision: 'peer';
      readonly reason: DecisionReason;
      /** With `LocalServerDown`: why the request would have been the local server's. */
      readonly inPlaceOf?: DecisionReason;
      readonly candidates: readonly RoutingServer[];
    }
  | {
      readonly decision: 'extension';
      readonly reason: 'ExtensionAPIServer';
      readonly candidates: readonly [];
      readonly apiService: SnapshotApiService;
    }
  | { readonly decision: 'unavailable'; readonly reason: DecisionReason; readonly candidates: readonly [] };

const none = [] as const;
const local = (reason: DecisionReason): Decision =>
  Object.freeze({ decision: 'local', reason, candidates: none });
const unavailable = (reason: DecisionReason): Decision =>
  Object.freeze({ decision: 'unavailable', reason, candidates: none });

// Made once: a decision other than `peer` or `extension` allocates nothing.
const notAResourceRequest = local('NotAResourceRequest');
const alreadyRerouted = local('AlreadyRerouted');
const localWithoutSnapshot = local('NoSnapshot');
const localWithExpiredSnapshot = local('SnapshotExpired');
const unavailableWithoutSnapshot = unavailable('NoSnapshot');
const unavailableWithExpiredSnapshot = unavailable('SnapshotExpired');
const servedLocally = local('ServedLocally');
const extensionThroughLocalAggregator = local('ExtensionAPIServer');
const extensionWithoutAddress = local('ExtensionAPIServerAddressUnknown');
const extensionUnavailable = unavailable('ExtensionAPIServerUnavailable');
const customResource = local('CustomResource');
const peerAddressUnknown = unavailable('PeerAddressUnknown');
const serverDeparted = unavailable('ServerDeparted');
const notServedByAnyServer = local('NotServedByAnyServer');
const reroutedToGateway = unavailable('AlreadyRerouted');

/**
 * Where one request goes, and why: the nine rules of docs/explanation/architecture.md, first match wins. In the gateway
 * form, and while the local server is down, what a rule gives to the local server goes to any that can answer it. Pure.
 */
export function decide(
  requestInfo: RequestInfo,
  table: RoutingTable | undefined,
  context: DecisionContext,
): Decision {
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
  // A gateway has nobody to handle it: whoever sent it takes the gateway for an API server.
  if (context.reroutedByVerifiedPeer)
    return context.serverId === undefined ? reroutedToGateway : alreadyRerouted;

  const withoutKnowledge = decideWithoutKnowledge(requestInfo, table, context);
  if (withoutKnowledge !== undefined) return withoutKnowledge;
  // decideWithoutKnowledge answers whenever there is no table.
  const known = table as RoutingTable;

  const { apiGroup, apiVersion, resource, subresource } = requestInfo;
  const route = known.resource(apiGroup, apiVersion, resource);
  const servedBy = subresource === '' ? route : subresourceRoute(route, subresource);

  const { serverId } = context;
  const local = serverId !== undefined && servedBy?.serverIds.has(serverId) === true;
  trace?.push({
    rule: '4 the local server serves it',
    matched: local,
    detail: `served by ${describeServers(servedBy)}; ${describeLocal(context)}`,
  });
  if (local) return inPlaceOfLocal(servedLocally, servedBy.reachable, context);

  const extension = known.extension(apiGroup, apiVersion);
  trace?.push({
    rule: '5 an extension API server covers the group version',
    matched: extension !== undefined,
    detail: describeExtension(extension, context),
  });
  if (extension !== undefined) return decideExtension(extension, known, context);

  const custom = known.isCustomResource(apiGroup, apiVersion);
  trace?.push({
    rule: '6 the group is served through CustomResourceDefinitions',
    matched: custom,
    detail: custom ? 'every server serves custom resources' : 'it is not',
  });
  if (custom) return inPlaceOfLocal(customResource, known.reachable, context);

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
  if (withoutAddress) {
    return servedBy.servers.some(({ departed }) => departed) ? serverDeparted : peerAddressUnknown;
  }

  trace?.push({
    rule: '9 nobody serves it',
    matched: true,
    detail: `${serverId === undefined ? 'any' : 'the local'} server answers 404 itself`,
  });
  return inPlaceOfLocal(notServedByAnyServer, known.reachable, context);
}

/** Rule 1, for paths whose answer is one server's own. */
function decideOtherPath(
  { path }: RequestInfo,
  table: RoutingTable | undefined,
  context: DecisionContext,
): Decision {
  if (context.serverId === undefined) {
    if (table === undefined) return unavailableWithoutSnapshot;
    // To pass it on would be its second hop.
    if (context.reroutedByVerifiedPeer) return reroutedToGateway;
  } else if (context.reroutedByVerifiedPeer || table === undefined || !isClusterPath(path)) {
    return notAResourceRequest;
  }
  return inPlaceOfLocal(notAResourceRequest, table.reachable, context);
}

/** Rule 3: not knowing is not the same as not existing, and what a peer was known to serve exists. */
function decideWithoutKnowledge(
  requestInfo: RequestInfo,
  table: RoutingTable | undefined,
  context: DecisionContext,
): Decision | undefined {
  const { stalePolicy, trace, now } = context;
  const expired = isExpired(table, now);
  trace?.push({
    rule: '3 no snapshot, or one past its lifetime',
    matched: table === undefined || (expired && stalePolicy !== 'serve-stale'),
    detail:
      table === undefined
        ? `no snapshot; policy ${stalePolicy}`
        : `generation ${table.generation}, ${expired ? `expired; policy ${stalePolicy}` : 'current'}`,
  });
  // A gateway has no local server to fall back to, whatever the policy.
  const refuses = stalePolicy === 'unavailable' || context.serverId === undefined;
  // `serve-stale` has nothing to serve from: the local server is all that is left.
  if (table === undefined) return refuses ? unavailableWithoutSnapshot : localWithoutSnapshot;
  if (!expired || stalePolicy === 'serve-stale') return undefined;
  return refuses || isForPeersOnly(requestInfo, table, context.serverId)
    ? unavailableWithExpiredSnapshot
    : localWithExpiredSnapshot;
}

/** Whether the snapshot, as long as it held, sent this to peers: the local server's 404 would be a false one. */
function isForPeersOnly(
  { apiGroup, apiVersion, resource, subresource }: RequestInfo,
  table: RoutingTable,
  serverId: string | undefined,
): boolean {
  const route = table.resource(apiGroup, apiVersion, resource);
  const servedBy = subresource === '' ? route : subresourceRoute(route, subresource);
  return (
    servedBy !== undefined &&
    (serverId === undefined || !servedBy.serverIds.has(serverId)) &&
    table.extension(apiGroup, apiVersion) === undefined &&
    !table.isCustomResource(apiGroup, apiVersion)
  );
}

/** Whether a server that has left for a while is known to serve this: to those that are there it does not exist. Pure. */
export function isServedByDepartedServer(
  { apiGroup, apiVersion, resource, subresource }: RequestInfo,
  table: RoutingTable | undefined,
): boolean {
  const route = table?.resource(apiGroup, apiVersion, resource);
  const servedBy = subresource === '' ? route : subresourceRoute(route, subresource);
  return servedBy?.servers.some(({ departed }) => departed) === true;
}

function decideExtension(
  apiService: SnapshotApiService,
  table: RoutingTable,
  context: DecisionContext,
): Decision {
  if (context.extensionRouting === 'local') {
    // Every server aggregates: they share their APIService objects.
    return inPlaceOfLocal(extensionThroughLocalAggregator, table.reachable, context);
  }
  if (!apiService.available) return extensionUnavailable;
  // The aggregator resolves the Service itself, and may know better than the snapshot.
  if (apiService.service?.address === undefined) {
    return inPlaceOfLocal(extensionWithoutAddress, table.reachable, context);
  }
  return { decision: 'extension', reason: 'ExtensionAPIServer', candidates: none, apiService };
}

function subresourceRoute(route: ResourceRoute | undefined, subresource: string): ServedBy | undefined {
  return route?.subresource(subresource);
}

function describeServers(servedBy: ServedBy | undefined): string {
  if (servedBy === undefined) return 'no server';
  return servedBy.servers.map(({ id, departed }) => (departed ? `${id} (departed)` : id)).join(', ');
}

function describeLocal({ serverId, localServerIsDown }: DecisionContext): string {
  if (serverId === undefined) return 'no server is local to a gateway';
  return `local is ${serverId}${localServerIsDown === true ? ', which is down' : ''}`;
}

function describeExtension(
  apiService: SnapshotApiService | undefined,
  { extensionRouting }: DecisionContext,
): string {
  if (apiService?.service === undefined) return 'no APIService with a service';
  const { namespace, name, address } = apiService.service;
  const service = `${name}.${namespace}.svc, ${apiService.available ? 'available' : 'not available'}`;
  if (extensionRouting === 'local') return service;
  return `${service}, ${address === undefined ? 'its address is not known: through the aggregator' : `at ${address}`}`;
}

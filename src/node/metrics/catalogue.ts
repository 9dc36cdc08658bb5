import type { DropReason } from '../../request/inbound.ts';
import type { PushResult } from '../../snapshot/receiving/receiver.ts';
import { readerStates } from '../../sync/documents/sync-server.ts';
import {
  counter,
  type FamilyOf,
  familyOf,
  gauge,
  histogram,
  type MetricDefinition,
} from './metric-family.ts';

/**
 * kube-apiserver's buckets of request durations, in seconds (k8s.io/apiserver pkg/endpoints/metrics/metrics.go), so that
 * its panels and alert rules can be used for the router.
 */
const requestBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];

/** The router's own work on one request is a fraction of a millisecond. */
const ownWorkBuckets = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1];

/** kube-apiserver's labels of a request, without `component` and `dry_run`, which the router does not know. */
const requestLabels = ['verb', 'group', 'version', 'resource', 'subresource', 'scope'] as const;

/** The sender of a request: a client, or another router, which counts the request as a client's. */
export type RequestSource = 'client' | 'router';

/** All are there from the start: `increase` does not see a refusal that is the first of its kind otherwise. */
const pushResults: readonly PushResult[] = [
  'accepted',
  'renewed',
  'unchanged',
  'Unsigned',
  'UnknownKey',
  'BadSignature',
  'TooLarge',
  'Invalid',
  'NotNewer',
  'OtherCluster',
  'GenerationAhead',
  'InternalError',
];

const dropReasons: readonly DropReason[] = [
  'Overloaded',
  'ServerNotReady',
  'VersionNotConfirmed',
  'RequestTimeout',
];

/**
 * Metrics of requests. Those of upstream's peer proxy have the same names, labels and meaning. The names of
 * kube-apiserver's general request metrics are not used: the API server counts the same request, and a sum over
 * `apiserver_request_total`, used for service level objectives, would count it twice.
 */
const requestCatalogue = {
  reroutedRequests: counter(
    'apiserver_rerouted_request_total',
    'Requests that were sent to a peer because the local API server does not serve them, by the code that the client got; counted when they are over. Code 0: the client left before. Empty group, version and resource: a discovery or OpenAPI document.',
    ['code', 'group', 'version', 'resource'],
  ),
  peerProxyErrors: counter(
    'apiserver_peer_proxy_errors_total',
    'Requests for a peer that could not be sent: endpoint_resolution (no peer has a usable address) or proxy_transport (the request could not be built). A peer that does not respond counts as rerouted with code 503, and in mixed_version_proxy_destination_errors_total.',
    ['type', 'group', 'version', 'resource'],
  ),
  noPeerDiscovery: counter(
    'aggregator_discovery_nopeer_requests_total',
    "Discovery requests that ask for the local server's own view (profile=nopeer).",
    [],
  ),
  aggregatedDiscoveryHits: counter(
    'aggregator_discovery_peer_aggregated_cache_hits_total',
    'Requests for aggregated discovery whose merged document was there already.',
    [],
  ),
  aggregatedDiscoveryMisses: counter(
    'aggregator_discovery_peer_aggregated_cache_misses_total',
    'Requests for aggregated discovery whose document had to be merged: the first of its kind after a new snapshot.',
    [],
  ),
  requests: counter(
    'mixed_version_proxy_requests_total',
    "Requests that got a response, by its code; counted when they are over. Group, version and resource are other where the snapshot does not know them, and empty for requests that name no resource. Subresource is /livez, /readyz or /healthz for probes, as in kube-apiserver, and /.mixed-version-proxy for the router's own paths. Source is router for what another router has sent on, which counts it as well, else client.",
    [...requestLabels, 'code', 'source'],
  ),
  // Not by resource: a histogram has 25 series for each set of labels, and kube-apiserver has that one already.
  requestDuration: histogram(
    'mixed_version_proxy_request_duration_seconds',
    'Time from the head of a request to the end of its response. Long-running requests (watch, log, exec and the like) are left out.',
    ['verb', 'scope'],
    requestBuckets,
  ),
  responseBytes: counter(
    'mixed_version_proxy_response_bytes_total',
    "Bytes of bodies of destinations, counted while they are passed on, as they came. Without the router's own responses, merged documents and tunnels.",
    requestLabels,
  ),
  routingDuration: histogram(
    'mixed_version_proxy_routing_duration_seconds',
    "Time from the head of a request until it goes to the first destination: the router's own share.",
    [],
    ownWorkBuckets,
  ),
  droppedRequests: counter(
    'mixed_version_proxy_dropped_requests_total',
    `Requests that the router turned away for its own sake, by reason: ${dropReasons.join(', ')}.`,
    ['reason'],
    dropReasons,
  ),
  otherVersionRequests: counter(
    'mixed_version_proxy_other_version_requests_total',
    'Requests that went to another version than the preferred one, of which no server could be asked, by age: newer, or older, which may have lost fields.',
    ['age'],
    ['newer', 'older'],
  ),
  inflightRequests: gauge(
    'mixed_version_proxy_current_inflight_requests',
    'Requests being handled now, by kind: readOnly, mutating, longRunning.',
    ['request_kind'],
    ['readOnly', 'mutating', 'longRunning'],
  ),
  decisions: counter(
    'mixed_version_proxy_decisions_total',
    'Where requests were sent (local, peer, unavailable) and the reason for it.',
    ['decision', 'reason'],
  ),
} satisfies Record<string, MetricDefinition>;

/** `destination` is the ID in the snapshot, `kind` is local or peer. A destination that leaves loses its series. */
const destinationLabels = ['destination', 'kind'] as const;

const destinationCatalogue = {
  destinationRequests: counter(
    'mixed_version_proxy_destination_requests_total',
    "Responses of destinations by their own code, which is not always the client's.",
    [...destinationLabels, 'code'],
  ),
  destinationErrors: counter(
    'mixed_version_proxy_destination_errors_total',
    'Attempts at destinations that did not respond, by error: ConnectFailed, TLSFailed, ConnectionClosed, Timeout, ClientGone, InvalidResponse, RequestHeaderFieldsTooLarge, DecisionOutdated, AssertionTooLarge, NotSendable, InternalError.',
    [...destinationLabels, 'error'],
  ),
  destinationInflight: gauge(
    'mixed_version_proxy_destination_inflight_requests',
    'Requests in flight at a destination: short ones, and long-running ones (watch, log, exec and the like).',
    [...destinationLabels, 'request_kind'],
  ),
  destinationDuration: histogram(
    'mixed_version_proxy_destination_response_duration_seconds',
    'Time from handing a request to a destination to the head of its response, connecting included.',
    destinationLabels,
    requestBuckets,
  ),
  health: gauge(
    'mixed_version_proxy_destination_health',
    '1 for the status that a server has now: untried, ready, suspect, unready, unreachable, restarting, unverified, departed.',
    ['destination', 'status'],
  ),
  putAside: counter(
    'mixed_version_proxy_destination_put_aside_total',
    'Times that a server was put aside until its /readyz said that it is ready, because a connection was refused or broke.',
    ['destination'],
  ),
  secondTries: counter(
    'mixed_version_proxy_second_tries_total',
    'Requests that were sent to a second destination, by what came of the first: an error as in destination_errors_total, or NotServed for a 404 by which it lacks the resource.',
    ['cause'],
    ['NotServed', 'ConnectFailed', 'ConnectionClosed', 'Timeout'],
  ),
  retryBudget: gauge(
    'mixed_version_proxy_retry_budget',
    'Second tries that the retry budget allows at this moment. Below 1 there is none.',
    [],
  ),
  connectErrors: counter(
    'mixed_version_proxy_destination_connect_errors_total',
    'Connections to a destination that failed, by cause: the error code, and for TLS unknown_ca, expired_cert, hostname_mismatch, client_certificate_refused, protocol_mismatch, timeout, closed or other.',
    [...destinationLabels, 'cause'],
  ),
} satisfies Record<string, MetricDefinition>;

const fileLabels = ['flag', 'path'] as const;

const stateCatalogue = {
  peerDiscoverySyncErrors: counter(
    'apiserver_peer_discovery_sync_errors_total',
    'Errors of what is known of peers: hostport_resolution (a server of a new snapshot has no usable address), fetch_discovery (this router could not read a server; where snapshots are pushed the sync job reads them). The lease_list of upstream is not counted: see mixed_version_proxy_sync_servers.',
    ['type'],
    ['hostport_resolution', 'fetch_discovery'],
  ),
  snapshotGeneration: gauge(
    'mixed_version_proxy_snapshot_generation',
    'Generation of the snapshot in use. 0 while there is none.',
    [],
  ),
  snapshotContent: gauge(
    'mixed_version_proxy_snapshot_content_info',
    '1, with a hash of what the snapshot in use says of the cluster: the same on all routers that know the same. Absent while there is none.',
    ['hash'],
  ),
  snapshotAge: gauge(
    'mixed_version_proxy_snapshot_age_seconds',
    'Time since the snapshot in use was made or last renewed. Absent while there is none.',
    [],
  ),
  refusedAddresses: gauge(
    'mixed_version_proxy_refused_addresses',
    'Addresses of servers that are left out, because the address policy refuses them or they are no addresses. Nobody is called there.',
    [],
  ),
  snapshotPushes: counter(
    'mixed_version_proxy_snapshot_pushes_total',
    'Pushed snapshots by result: accepted, renewed, unchanged, or the reason of the refusal (Unsigned, UnknownKey, BadSignature, TooLarge, Invalid, NotNewer, OtherCluster, GenerationAhead, InternalError).',
    ['result'],
    pushResults,
  ),
  certificateExpiration: gauge(
    'mixed_version_proxy_certificate_expiration_timestamp_seconds',
    'When the first certificate in a file, or a token of the kubeconfig, expires, in seconds since the epoch.',
    fileLabels,
  ),
  certificateLifetime: gauge(
    'mixed_version_proxy_certificate_lifetime_seconds',
    'How long that certificate or token is valid in all.',
    fileLabels,
  ),
  credentialReloadFailed: gauge(
    'mixed_version_proxy_credential_file_reload_failed',
    '1 while a changed certificate, key or kubeconfig cannot be used and its old content stays in use, else 0.',
    fileLabels,
  ),
  kubeApiServerMoved: gauge(
    'mixed_version_proxy_kube_apiserver_moved',
    '1 while the static pod of the local kube-apiserver is to listen elsewhere than the router reaches it, as after kubeadm upgrade without --patches.',
    [],
  ),
  memoryReliefs: counter(
    'mixed_version_proxy_memory_reliefs_total',
    'Requests refused (429, REFUSED_STREAM), and connections or streams ended, because the limit of bytes held for others was reached.',
    ['action'],
    ['refused', 'ended'],
  ),
  heldBytes: gauge(
    'mixed_version_proxy_held_bytes',
    'Bytes held for others: incomplete heads, heads of requests without a response, content that nobody has taken.',
    [],
  ),
  foldedSeries: counter(
    'mixed_version_proxy_folded_series_total',
    'Sets of labels for which a metric had no room at 5,000 series: all but code, verb and source became other. A set may count more than once.',
    ['metric'],
  ),
  buildInfo: gauge(
    'mixed_version_proxy_build_info',
    '1, with the version of the router and of Node.js in the labels.',
    ['version', 'node_version'],
  ),
  featureEnabled: gauge(
    'kubernetes_feature_enabled',
    "Whether a feature gate is on (1) or off (0), under the name of Kubernetes' own metric.",
    ['name', 'stage'],
  ),
  healthcheck: gauge(
    'kubernetes_healthcheck',
    'Result of a health check at this scrape: 1 is healthy, 0 is not. Type is the endpoint: healthz, livez, readyz.',
    ['name', 'type'],
  ),
} satisfies Record<string, MetricDefinition>;

/** kube-apiserver's bounds for short requests (pkg/endpoints/metrics), up to the read time-out. */
export const readBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 15] as const;

/** Metrics of reading a cluster, of a sync job and of a router that does it for itself: the same under both. */
export const syncCatalogue = {
  servers: gauge(
    'mixed_version_proxy_sync_servers',
    'API servers by state, as who reads them knows them: untried, ready, restarting, unverified, unready, unreachable, departed. In every state but ready the last known set stands.',
    ['state'],
  ),
  lastRound: gauge(
    'mixed_version_proxy_sync_last_round_timestamp_seconds',
    'End of the last round of readings, seconds since the epoch.',
    [],
  ),
  reads: histogram(
    'mixed_version_proxy_sync_read_duration_seconds',
    'Duration of reading one API server whole, by result: success, failure.',
    ['result'],
    readBuckets,
  ),
} satisfies Record<string, MetricDefinition>;

interface SyncState {
  readonly servers: readonly { readonly state: string }[];
  /** Milliseconds since the epoch. */
  readonly lastRoundAt: number | undefined;
}

export function updateSync(
  sync: FamiliesOf<Pick<typeof syncCatalogue, 'servers' | 'lastRound'>>,
  { servers, lastRoundAt }: SyncState,
): void {
  sync.lastRound.clear();
  for (const name of readerStates) {
    sync.servers.with(name).set(servers.filter(({ state }) => state === name).length);
  }
  if (lastRoundAt !== undefined) sync.lastRound.with().set(lastRoundAt / 1000);
}

interface CatalogueSection {
  readonly heading: string;
  readonly metrics: readonly MetricDefinition[];
}

/**
 * All metrics of the router but those of its process (`processMetricNames`). docs/reference/metrics.md is generated from
 * this list, and tests compare a scrape with it.
 */
export const metricCatalogue: readonly CatalogueSection[] = [
  { heading: 'Requests', metrics: Object.values(requestCatalogue) },
  { heading: 'Destinations', metrics: Object.values(destinationCatalogue) },
  { heading: 'Snapshot, files, connections', metrics: Object.values(stateCatalogue) },
  { heading: 'Reading the cluster', metrics: Object.values(syncCatalogue) },
];

type FamiliesOf<Catalogue extends Readonly<Record<string, MetricDefinition>>> = {
  readonly [Name in keyof Catalogue]: FamilyOf<Catalogue[Name]>;
};

export type MetricRegistry = ReturnType<typeof createMetricRegistry>;

export function createMetricRegistry() {
  return {
    requests: familiesOf(requestCatalogue),
    destinations: familiesOf(destinationCatalogue),
    state: familiesOf(stateCatalogue),
    sync: familiesOf(syncCatalogue),
  };
}

export function familiesOf<Catalogue extends Readonly<Record<string, MetricDefinition>>>(
  catalogue: Catalogue,
): FamiliesOf<Catalogue> {
  const families = Object.entries(catalogue).map(([name, definition]) => [name, familyOf(definition)]);
  return Object.fromEntries(families) as FamiliesOf<Catalogue>;
}

import type { DropReason } from '../../request/request-record.ts';
import { counter, gauge, histogram, type MetricDefinition } from './metric-family.ts';

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

const dropReasons: readonly DropReason[] = [
  'Overloaded',
  'ServerNotReady',
  'PreferredVersionUnavailable',
  'RequestTimeout',
];

/**
 * Metrics of requests. Those of upstream's peer proxy have the same names, labels and meaning. The names of
 * kube-apiserver's general request metrics are not used: the API server counts the same request, and a sum over
 * `apiserver_request_total`, used for service level objectives, would count it twice.
 */
export const requestCatalogue = {
  reroutedRequests: counter(
    'apiserver_rerouted_request_total',
    'Requests that were sent to a peer because the local API server does not serve them, by the code that the client got; counted when they are over. Code 0: the client went away before. Empty group, version and resource: a discovery or OpenAPI document.',
    ['code', 'group', 'version', 'resource'],
  ),
  peerProxyErrors: counter(
    'apiserver_peer_proxy_errors_total',
    'Requests for a peer that could not be sent: endpoint_resolution (no peer that serves it has a usable address) or proxy_transport (the request to the peer could not be built). A peer that does not respond counts as a rerouted request with code 503 and in mixed_version_proxy_destination_errors_total.',
    ['type', 'group', 'version', 'resource'],
  ),
  noPeerDiscovery: counter(
    'aggregator_discovery_nopeer_requests_total',
    "Discovery requests that ask for the local server's own view (profile=nopeer).",
    [],
  ),
  aggregatedDiscoveryHits: counter(
    'aggregator_discovery_peer_aggregated_cache_hits_total',
    'Requests for aggregated discovery that got a merged document that was there already.',
    [],
  ),
  aggregatedDiscoveryMisses: counter(
    'aggregator_discovery_peer_aggregated_cache_misses_total',
    'Requests for aggregated discovery for which the document had to be merged: the first one of its kind after a new snapshot, unless it was made ahead.',
    [],
  ),
  requests: counter(
    'mixed_version_proxy_requests_total',
    "Requests that got a response, by what they ask for and the code of the client's response; counted when they are over. Group, version and resource are other where the snapshot does not know them, and empty for requests that name no resource.",
    [...requestLabels, 'code'],
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
    "Bytes of the bodies that destinations sent, counted while they are passed on, long-running requests included. Compressed ones count as they are. The router's own responses, merged documents and tunnels are left out.",
    requestLabels,
  ),
  routingDuration: histogram(
    'mixed_version_proxy_routing_duration_seconds',
    "Time from the head of a request until it is handed to the first destination: the router's own share of its duration.",
    [],
    ownWorkBuckets,
  ),
  requestAborts: counter(
    'mixed_version_proxy_request_aborts_total',
    'Requests that ended without the head of a response: the client went away, or the connection broke.',
    ['verb'],
  ),
  droppedRequests: counter(
    'mixed_version_proxy_dropped_requests_total',
    `Requests that the router turned away for its own sake, by reason: ${dropReasons.join(', ')}.`,
    ['reason'],
    dropReasons,
  ),
  otherVersionRequests: counter(
    'mixed_version_proxy_other_version_requests_total',
    'Requests that went to a server of another version than the preferred one, of which none could be asked, by age: newer, or older, which may have lost fields.',
    ['age'],
    ['newer', 'older'],
  ),
  inflightRequests: gauge(
    'mixed_version_proxy_current_inflight_requests',
    'Requests being handled now, by kind: readOnly, mutating, longRunning.',
    ['request_kind'],
    ['readOnly', 'mutating', 'longRunning'],
  ),
  longRunningRequests: gauge(
    'mixed_version_proxy_longrunning_requests',
    'Long-running requests (watch, log, exec and the like) that are open now.',
    requestLabels,
  ),
  tunnels: gauge(
    'mixed_version_proxy_open_tunnels',
    'Upgraded connections (exec, attach, port-forward) that are open now.',
    [],
  ),
  upgrades: counter(
    'mixed_version_proxy_upgrades_total',
    'Connections that were upgraded. Upgrades that were refused are requests with another code than 101.',
    [],
  ),
  decisions: counter(
    'mixed_version_proxy_decisions_total',
    'Where requests were sent (local, peer, unavailable) and the reason for it.',
    ['decision', 'reason'],
  ),
  authenticatedRequests: counter(
    'mixed_version_proxy_authenticated_requests_total',
    'Requests by how the caller was established; passthrough: not here, its own credentials go on to the API server. Refused credentials are requests with code 401.',
    ['authenticator'],
  ),
} satisfies Record<string, MetricDefinition>;

/** `destination` is the ID in the snapshot, `kind` is local or peer. A destination that leaves loses its series. */
const destinationLabels = ['destination', 'kind'] as const;

/** Milliseconds to seconds, doubling, as k3s' load balancer measures dials. */
const connectBuckets = [
  0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1.024, 2.048, 4.096, 8.192, 16.384,
];

/** Metrics of the servers that requests are sent to. */
export const destinationCatalogue = {
  destinationRequests: counter(
    'mixed_version_proxy_destination_requests_total',
    "Responses of destinations by their own code, which is not always the client's.",
    [...destinationLabels, 'code'],
  ),
  destinationErrors: counter(
    'mixed_version_proxy_destination_errors_total',
    'Attempts at destinations that did not respond, by error: ConnectFailed, TLSFailed, ConnectionClosed, Timeout, ClientGone, InvalidResponse, RequestHeaderFieldsTooLarge, AssertionTooLarge, InternalError.',
    [...destinationLabels, 'error'],
  ),
  destinationInflight: gauge(
    'mixed_version_proxy_destination_inflight_requests',
    'Requests in flight at a destination, long-running ones included.',
    destinationLabels,
  ),
  destinationDuration: histogram(
    'mixed_version_proxy_destination_response_duration_seconds',
    'Time from handing a request to a destination to the head of its response, connecting included.',
    destinationLabels,
    requestBuckets,
  ),
  health: gauge(
    'mixed_version_proxy_destination_health',
    '1 for the status that a server has now: unknown, healthy, unhealthy.',
    ['destination', 'status'],
  ),
  healthChanges: counter(
    'mixed_version_proxy_destination_health_changes_total',
    'Changes of a server to a status: unknown, healthy, unhealthy.',
    ['destination', 'status'],
  ),
  probes: counter(
    'mixed_version_proxy_destination_probes_total',
    'Health probes of a server by outcome: ready, changed, alive, not-ready, unreachable.',
    ['destination', 'outcome'],
  ),
  putAside: counter(
    'mixed_version_proxy_destination_put_aside_total',
    'Times that a server got no more requests until its /readyz said that it is ready, because a connection to it was refused or broke.',
    ['destination'],
  ),
  secondTries: counter(
    'mixed_version_proxy_second_tries_total',
    'Requests that were sent to a second destination, by what came of the first: an error as in destination_errors_total, or NotServed for a 404 by which it turned out not to have the resource.',
    ['cause'],
    ['NotServed', 'ConnectFailed', 'ConnectionClosed', 'Timeout'],
  ),
  retryBudget: gauge(
    'mixed_version_proxy_retry_budget',
    'Second tries that the retry budget allows at this moment. Below 1 there is none.',
    [],
  ),
  connectDuration: histogram(
    'mixed_version_proxy_destination_connect_duration_seconds',
    'Time to open a connection to a destination: name, TCP and TLS.',
    destinationLabels,
    connectBuckets,
  ),
  connectErrors: counter(
    'mixed_version_proxy_destination_connect_errors_total',
    'Connections to a destination that could not be opened, by cause: the error code, and for TLS unknown_ca, expired_cert, hostname_mismatch, client_certificate_refused, protocol_mismatch or other.',
    [...destinationLabels, 'cause'],
  ),
  destinationConnections: gauge(
    'mixed_version_proxy_destination_connections',
    'Open connections to a destination, by protocol: h2, http/1.1.',
    [...destinationLabels, 'protocol'],
  ),
} satisfies Record<string, MetricDefinition>;

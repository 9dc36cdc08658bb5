import type { MetricDefinition } from './metric-family.ts';

const fileLabels = ['flag', 'path'] as const;

/** Metrics of the state of the router. */
export const stateCatalogue = {
  peerDiscoverySyncErrors: {
    name: 'apiserver_peer_discovery_sync_errors_total',
    type: 'counter',
    stability: 'ALPHA',
    help: "Faults of what is known of peers: hostport_resolution (a server of a new snapshot has no usable address), fetch_discovery (a server's OpenAPI document could not be read). lease_list stays 0: leases are the sync job's to list.",
    labels: ['type'],
  },
  snapshotGeneration: {
    name: 'mixed_version_proxy_snapshot_generation',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Generation of the snapshot in use. 0 while there is none.',
    labels: [],
  },
  snapshotAge: {
    name: 'mixed_version_proxy_snapshot_age_seconds',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Time since the snapshot in use was made or last renewed. Absent while there is none.',
    labels: [],
  },
  snapshotLifetimeLeft: {
    name: 'mixed_version_proxy_snapshot_remaining_lifetime_seconds',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Time until the snapshot in use is past its lifetime; negative since then. Absent while there is none.',
    labels: [],
  },
  snapshotServers: {
    name: 'mixed_version_proxy_snapshot_servers',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'API servers of the snapshot by state: current, stale (the sync job cannot read it), departed (it has left in order and may come back), without_address.',
    labels: ['state'],
  },
  snapshotPushes: {
    name: 'mixed_version_proxy_snapshot_pushes_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Pushed snapshots and renewals by result: accepted, renewed, unchanged, or the reason of the refusal (Unsigned, UnknownKey, BadSignature, TooLarge, Invalid, NotNewer, InternalError).',
    labels: ['result'],
  },
  discoveryConflicts: {
    name: 'mixed_version_proxy_discovery_conflicts',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Resources that servers describe in ways that exclude each other, in the merged discovery documents.',
    labels: [],
  },
  documentProblems: {
    name: 'mixed_version_proxy_document_problems',
    type: 'gauge',
    stability: 'ALPHA',
    help: "Servers' discovery and OpenAPI documents that are missing in the merged ones, or not up to date there.",
    labels: [],
  },
  certificateExpiration: {
    name: 'mixed_version_proxy_certificate_expiration_timestamp_seconds',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'When the first certificate in a file ends, in seconds since the epoch.',
    labels: fileLabels,
  },
  credentialReloadFailed: {
    name: 'mixed_version_proxy_credential_file_reload_failed',
    type: 'gauge',
    stability: 'ALPHA',
    help: '1 while a changed certificate, key or configuration file cannot be used and its old content stays in use, else 0.',
    labels: fileLabels,
  },
  credentialLastReload: {
    name: 'mixed_version_proxy_credential_file_last_reload_timestamp_seconds',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'When a changed certificate, key or configuration file was last taken into use, in seconds since the epoch. 0: it is as it was at start.',
    labels: fileLabels,
  },
  clientConnections: {
    name: 'mixed_version_proxy_client_connections',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Open connections of clients, by protocol: h2, http/1.1.',
    labels: ['protocol'],
  },
  tlsHandshakes: {
    name: 'mixed_version_proxy_tls_handshakes_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'TLS handshakes that clients finished, by protocol: h2, http/1.1.',
    labels: ['protocol'],
  },
  tlsHandshakeErrors: {
    name: 'mixed_version_proxy_tls_handshake_errors_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'TLS handshakes with clients that failed, by cause: unknown_ca, expired_cert, hostname_mismatch, client_certificate_refused, protocol_mismatch, closed, other.',
    labels: ['cause'],
  },
  proxyProtocolErrors: {
    name: 'mixed_version_proxy_proxy_protocol_errors_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Connections of load balancers (--proxy-protocol-cidrs) that were refused, by reason: no_header, malformed, too_long, timeout, closed (within the header).',
    labels: ['reason'],
  },
  malformedRequests: {
    name: 'mixed_version_proxy_malformed_http_requests_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'What clients on HTTP/1.1 sent that is no valid HTTP, or could be read in two ways. It is refused before it is a request.',
    labels: [],
  },
  auditEvents: {
    name: 'mixed_version_proxy_audit_events_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Audit events by result: written, dropped (the buffer was full, or the router ended). 0 while nothing is audited.',
    labels: ['result'],
  },
  traceSpans: {
    name: 'mixed_version_proxy_trace_spans_total',
    type: 'counter',
    stability: 'ALPHA',
    help: 'Spans of sampled requests by result: exported, failed (the collector did not take them). 0 while nothing is traced.',
    labels: ['result'],
  },
  buildInfo: {
    name: 'mixed_version_proxy_build_info',
    type: 'gauge',
    stability: 'ALPHA',
    help: '1, with the version of the router and of Node.js in the labels.',
    labels: ['version', 'node_version'],
  },
  configInfo: {
    name: 'mixed_version_proxy_config_info',
    type: 'gauge',
    stability: 'ALPHA',
    help: '1, with the hash of the configuration in use, as /statusz shows it.',
    labels: ['hash'],
  },
  settingsNeedingRestart: {
    name: 'mixed_version_proxy_settings_needing_restart',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'Settings that the configuration file gives another value than the one in use, which takes a restart.',
    labels: [],
  },
  featureEnabled: {
    name: 'kubernetes_feature_enabled',
    type: 'gauge',
    stability: 'ALPHA',
    help: "Whether a feature gate is on (1) or off (0), under the name of Kubernetes' own metric.",
    labels: ['name', 'stage'],
  },
} as const satisfies Record<string, MetricDefinition>;

/** Exposed at /metrics/slis (KEP-3466) with upstream's names, to be scraped often. */
export const sliCatalogue = {
  healthcheck: {
    name: 'kubernetes_healthcheck',
    type: 'gauge',
    stability: 'STABLE',
    help: 'Result of a health check: 1 is healthy, 0 is not. Type is the endpoint: healthz, livez, readyz.',
    labels: ['name', 'type'],
  },
  healthchecks: {
    name: 'kubernetes_healthchecks_total',
    type: 'counter',
    stability: 'STABLE',
    help: 'Results of health checks, each time they are asked for, by status: success, error.',
    labels: ['name', 'type', 'status'],
  },
} as const satisfies Record<string, MetricDefinition>;

/** kube-apiserver's bounds for short requests (pkg/endpoints/metrics), up to the read time-out. */
export const readBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 15] as const;

/** Metrics of reading a cluster, of a sync job and of a router that does it for itself: the same under both. */
export const syncCatalogue = {
  servers: {
    name: 'mixed_version_proxy_sync_servers',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'API servers by state: current, stale (unreadable, last known set stands), departed (it has left and may come back), unknown.',
    labels: ['state'],
  },
  lastRound: {
    name: 'mixed_version_proxy_sync_last_round_timestamp_seconds',
    type: 'gauge',
    stability: 'ALPHA',
    help: 'End of the last round of readings, seconds since the epoch.',
    labels: [],
  },
  reads: {
    name: 'mixed_version_proxy_sync_read_duration_seconds',
    type: 'histogram',
    stability: 'ALPHA',
    help: 'Duration of reading one API server whole, by result: success, failure.',
    labels: ['result'],
    buckets: readBuckets,
  },
} as const satisfies Record<string, MetricDefinition>;

export const syncServerStates = ['current', 'stale', 'departed', 'unknown'] as const;

import { counter, gauge, histogram, type MetricDefinition, stable } from './metric-family.ts';

const fileLabels = ['flag', 'path'] as const;

/** Metrics of the state of the router. */
export const stateCatalogue = {
  peerDiscoverySyncErrors: counter(
    'apiserver_peer_discovery_sync_errors_total',
    'Errors of what is known of peers: hostport_resolution (a server of a new snapshot has no usable address). lease_list and fetch_discovery stay 0: leases are listed, and discovery is read, by the sync job.',
    ['type'],
    ['lease_list', 'hostport_resolution', 'fetch_discovery'],
  ),
  snapshotGeneration: gauge(
    'mixed_version_proxy_snapshot_generation',
    'Generation of the snapshot in use. 0 while there is none.',
    [],
  ),
  snapshotContent: gauge(
    'mixed_version_proxy_snapshot_content_info',
    '1, with a hash of what the snapshot in use says of the cluster: the same on all routers that know the same, whatever generation each has. Absent while there is none.',
    ['hash'],
  ),
  snapshotAge: gauge(
    'mixed_version_proxy_snapshot_age_seconds',
    'Time since the snapshot in use was made or last renewed. Absent while there is none.',
    [],
  ),
  snapshotServers: gauge(
    'mixed_version_proxy_snapshot_servers',
    'API servers of the snapshot by state: current, stale (the sync job cannot read it), departed (it has left in order and may come back), without_address.',
    ['state'],
  ),
  snapshotPushes: counter(
    'mixed_version_proxy_snapshot_pushes_total',
    'Pushed snapshots and renewals by result: accepted, renewed, unchanged, or the reason of the refusal (Unsigned, UnknownKey, BadSignature, TooLarge, Invalid, NotNewer, InternalError).',
    ['result'],
    ['accepted', 'renewed', 'unchanged'],
  ),
  discoveryConflicts: gauge(
    'mixed_version_proxy_discovery_conflicts',
    'Resources that servers describe in ways that exclude each other, in the merged discovery documents.',
    [],
  ),
  documentProblems: gauge(
    'mixed_version_proxy_document_problems',
    "Servers' discovery documents and OpenAPI indexes that are missing in the merged ones, or not up to date there.",
    [],
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
    '1 while a changed certificate, key or configuration file cannot be used and its old content stays in use, else 0.',
    fileLabels,
  ),
  credentialLastReload: gauge(
    'mixed_version_proxy_credential_file_last_reload_timestamp_seconds',
    'When a changed certificate, key or configuration file was last taken into use, in seconds since the epoch. 0: it is as it was at start.',
    fileLabels,
  ),
  clientConnections: gauge(
    'mixed_version_proxy_client_connections',
    'Open connections of clients, by protocol: h2, http/1.1.',
    ['protocol'],
  ),
  tlsHandshakes: counter(
    'mixed_version_proxy_tls_handshakes_total',
    'TLS handshakes that clients finished, by protocol: h2, http/1.1.',
    ['protocol'],
  ),
  tlsHandshakeErrors: counter(
    'mixed_version_proxy_tls_handshake_errors_total',
    'TLS handshakes with clients that failed, by cause: unknown_ca, expired_cert, hostname_mismatch, client_certificate_refused, protocol_mismatch, closed, other.',
    ['cause'],
  ),
  malformedRequests: counter(
    'mixed_version_proxy_malformed_http_requests_total',
    'What clients on HTTP/1.1 sent that is no valid HTTP, or could be read in two ways. It is refused before it is a request.',
    [],
  ),
  memoryReliefs: counter(
    'mixed_version_proxy_memory_reliefs_total',
    'What was done because too many bytes are held for others, by action: a request was refused (429, REFUSED_STREAM), or what waits was ended.',
    ['action'],
    ['refused', 'ended'],
  ),
  heldBytes: gauge(
    'mixed_version_proxy_held_bytes',
    'Bytes held for others: incomplete heads, heads of requests without a response, content that nobody has taken.',
    [],
  ),
  buildInfo: gauge(
    'mixed_version_proxy_build_info',
    '1, with the version of the router and of Node.js in the labels.',
    ['version', 'node_version'],
  ),
  configInfo: gauge(
    'mixed_version_proxy_config_info',
    '1, with the SHA-256 of all flags in use, defaults included, without the contents of files.',
    ['hash'],
  ),
  settingsNeedingRestart: gauge(
    'mixed_version_proxy_settings_needing_restart',
    'Settings that the configuration file gives another value than the one in use, which takes a restart.',
    [],
  ),
  featureEnabled: gauge(
    'kubernetes_feature_enabled',
    "Whether a feature gate is on (1) or off (0), under the name of Kubernetes' own metric.",
    ['name', 'stage'],
  ),
} satisfies Record<string, MetricDefinition>;

/** Exposed at /metrics/slis (KEP-3466) with upstream's names, to be scraped often. */
export const sliCatalogue = {
  healthcheck: stable(
    gauge(
      'kubernetes_healthcheck',
      'Result of a health check: 1 is healthy, 0 is not. Type is the endpoint: healthz, livez, readyz.',
      ['name', 'type'],
    ),
  ),
  healthchecks: stable(
    counter(
      'kubernetes_healthchecks_total',
      'Results of health checks, each time they are asked for, by status: success, error.',
      ['name', 'type', 'status'],
    ),
  ),
} satisfies Record<string, MetricDefinition>;

/** kube-apiserver's bounds for short requests (pkg/endpoints/metrics), up to the read time-out. */
export const readBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 15] as const;

/** Metrics of reading a cluster, of a sync job and of a router that does it for itself: the same under both. */
export const syncCatalogue = {
  servers: gauge(
    'mixed_version_proxy_sync_servers',
    'API servers by state: current, stale (unreadable, last known set stands), departed (it has left and may come back), unknown.',
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

export const syncServerStates = ['current', 'stale', 'departed', 'unknown'] as const;

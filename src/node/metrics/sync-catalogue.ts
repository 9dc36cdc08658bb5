import type { MetricDefinition } from './definition.ts';

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

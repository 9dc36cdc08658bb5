import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { SyncObserver } from '../delivery/observer.ts';
import type { SyncStatus } from '../sync-loop.ts';

/** Metrics of a sync job, for Prometheus. */
export interface SyncMetrics extends SyncObserver {
  readonly contentType: string;
  /** Everything in the text form of Prometheus. @param status as it is now; `undefined` before the loop has begun */
  text(status: SyncStatus | undefined): Promise<string>;
}

const prefix = 'mixed_version_proxy_sync_';
/** Stability level in the help, as Kubernetes' components have it (component-base metrics). */
const help = (text: string) => `[ALPHA] ${text}`;

/** kube-apiserver's bounds for short requests (pkg/endpoints/metrics), up to the read time-out. */
const readBuckets = [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 15];

/**
 * Metrics with a bounded number of series: labels hold nothing but outcomes, states and the targets' configured
 * names.
 */
export function createSyncMetrics(): SyncMetrics {
  const register = new Registry();
  const registers = [register];
  collectDefaultMetrics({ register });
  const generation = new Gauge({
    name: `${prefix}generation`,
    help: help('Generation of the snapshot that is being delivered. 0 while there is none.'),
    registers,
  });
  const leader = new Gauge({
    name: `${prefix}leader`,
    help: help('1 on the sync job that delivers, 0 on those that stand by.'),
    registers,
  });
  const servers = new Gauge({
    name: `${prefix}servers`,
    help: help(
      'API servers by state: current, stale (unreadable, last known set stands), departed (it has left and may come back), unknown.',
    ),
    labelNames: ['state'],
    registers,
  });
  const lastRound = new Gauge({
    name: `${prefix}last_round_timestamp_seconds`,
    help: help('End of the last round of readings, seconds since the epoch.'),
    registers,
  });
  const lastDelivery = new Gauge({
    name: `${prefix}last_successful_delivery_timestamp_seconds`,
    help: help('Last delivery that the target has taken, seconds since the epoch.'),
    labelNames: ['target'],
    registers,
  });
  const reads = new Histogram({
    name: `${prefix}read_duration_seconds`,
    help: help('Duration of reading one API server whole, by result: success, failure.'),
    labelNames: ['result'],
    buckets: readBuckets,
    registers,
  });
  const deliveries = new Counter({
    name: `${prefix}deliveries_total`,
    help: help('Deliveries by target and result: accepted, newer-held, refused, unreachable.'),
    labelNames: ['target', 'result'],
    registers,
  });
  const deliveryDurations = new Histogram({
    name: `${prefix}delivery_duration_seconds`,
    help: help('Duration of one delivery, by target.'),
    labelNames: ['target'],
    buckets: readBuckets,
    registers,
  });

  function update(status: SyncStatus | undefined): void {
    generation.set(status?.generation ?? 0);
    leader.set(status?.leader === true ? 1 : 0);
    for (const state of ['current', 'stale', 'departed', 'unknown'] as const) {
      servers.set({ state }, status?.servers.filter((server) => server.state === state).length ?? 0);
    }
    if (status?.lastRoundAt !== undefined) lastRound.set(status.lastRoundAt / 1000);
    for (const { target, lastAcceptedAt } of status?.targets ?? []) {
      if (lastAcceptedAt !== undefined) lastDelivery.set({ target }, lastAcceptedAt / 1000);
    }
  }

  return {
    contentType: register.contentType,
    text(status) {
      update(status);
      return register.metrics();
    },
    serverRead: ({ seconds, result }) => reads.observe({ result }, seconds),
    delivered({ target, seconds, result }) {
      deliveries.inc({ target, result });
      deliveryDurations.observe({ target }, seconds);
    },
  };
}

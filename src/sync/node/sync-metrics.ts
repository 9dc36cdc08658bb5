import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { helpOf, type MetricDefinition } from '../../node/metrics/metric-family.ts';
import { readBuckets, syncCatalogue, syncServerStates } from '../../node/metrics/state-catalogue.ts';
import type { SyncObserver } from '../delivery/sync-observer.ts';
import type { SyncStatus } from '../sync-loop.ts';

/** Metrics of a sync job, for Prometheus. */
export interface SyncMetrics extends SyncObserver {
  readonly contentType: string;
  /** Everything in the text form of Prometheus. @param status the current one; `undefined` before the loop starts */
  text(status: SyncStatus | undefined): Promise<string>;
}

const prefix = 'mixed_version_proxy_sync_';
/** With the stability level, as in the metrics of Kubernetes' components (component-base metrics). */
const help = (text: string) => `[ALPHA] ${text}`;

/** The options of prom-client for an entry of the catalogue. */
function made<Definition extends MetricDefinition>({ name, labels, ...definition }: Definition) {
  return { name, help: helpOf(definition), labelNames: [...labels] };
}

/**
 * Metrics with a bounded number of series: the only labels are results, states and the configured names of targets.
 *
 * @example
 * ```ts
 * const metrics = createSyncMetrics();
 * console.log((await metrics.text(undefined)).startsWith('# HELP')); // true
 * ```
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
  const servers = new Gauge({ ...made(syncCatalogue.servers), registers });
  const lastRound = new Gauge({ ...made(syncCatalogue.lastRound), registers });
  const lastDelivery = new Gauge({
    name: `${prefix}last_successful_delivery_timestamp_seconds`,
    help: help('Last delivery that the target has taken, seconds since the epoch.'),
    labelNames: ['target'],
    registers,
  });
  const reads = new Histogram({ ...made(syncCatalogue.reads), buckets: [...readBuckets], registers });
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
    buckets: [...readBuckets],
    registers,
  });

  function update(status: SyncStatus | undefined): void {
    generation.set(status?.generation ?? 0);
    for (const state of syncServerStates) {
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

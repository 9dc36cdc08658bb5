import { Hono } from 'hono/tiny';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { textResponse } from '../../apimachinery/content-coding.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { readBuckets, syncCatalogue, syncServerStates } from '../../node/metrics/catalogue.ts';
import { helpOf, type MetricDefinition } from '../../node/metrics/metric-family.ts';
import { startEndpointServer } from '../../node/serving/endpoint-server.ts';
import { type HealthCheck, healthEndpoints, ping } from '../../own-paths/health.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { SyncStatus } from '../sync-loop.ts';
import type { SyncObserver } from '../sync-server.ts';

export interface ProcessEndpointsOptions {
  /** An IP address. Default 127.0.0.1: clients see the generation and the targets' names. */
  readonly address?: string | undefined;
  readonly port: number;
  readonly metrics: SyncMetrics;
  readonly status: () => SyncStatus | undefined;
  readonly now?: (() => number) | undefined;
  readonly logger?: Logger | undefined;
}

/** `/livez`, `/readyz`, `/healthz` and `/metrics` of a sync job. @throws if it cannot listen on the address */
export function startProcessEndpoints(options: ProcessEndpointsOptions) {
  const { address = '127.0.0.1', port, metrics, status, now = Date.now, logger = silentLogger } = options;
  const app = new Hono();
  app.route('/', healthEndpoints({ ...syncHealth(status, now), logger }));
  app.get('/metrics', async ({ req }) => {
    const text = await metrics.text(status());
    return textResponse(text, { 'content-type': metrics.contentType }, req.header('accept-encoding'));
  });
  app.notFound(({ req }) => statusResponse('NotFound', `the sync job has no ${req.path}`));
  return startEndpointServer({
    host: address,
    port,
    fetch: (request) => app.fetch(request),
    flag: '--bind-address',
  });
}

/** How long no round may end, milliseconds. Rounds begin every second, and wait at most two for slow servers. */
const longestWithoutRound = 30_000;

/**
 * The checks of a sync job. livez: it runs. readyz: it reads servers, and at least one target holds its snapshot. A single
 * router that is down does not make the sync job unready.
 */
function syncHealth(
  status: () => SyncStatus | undefined,
  now: () => number,
): { readonly livez: readonly HealthCheck[]; readonly readyz: readonly HealthCheck[] } {
  const rounds: HealthCheck = {
    name: 'rounds',
    check() {
      const lastRoundAt = status()?.lastRoundAt;
      if (lastRoundAt === undefined) return 'no round has ended yet';
      const age = now() - lastRoundAt;
      return age > longestWithoutRound ? `the last round ended ${Math.round(age / 1000)} s ago` : undefined;
    },
  };
  const servers: HealthCheck = {
    name: 'servers',
    check() {
      const known = status()?.servers ?? [];
      return known.some(({ state }) => state === 'current') ? undefined : 'no API server can be read';
    },
  };
  const deliveries: HealthCheck = {
    name: 'deliveries',
    check() {
      return status()?.targets.some(({ heldGeneration }) => heldGeneration !== undefined) === true
        ? undefined
        : 'no target holds the snapshot';
    },
  };
  return { livez: [ping], readyz: [ping, rounds, servers, deliveries] };
}

type SyncMetrics = ReturnType<typeof createSyncMetrics>;

const prefix = 'mixed_version_proxy_sync_';
/** With the stability level, as in the metrics of Kubernetes' components (component-base metrics). */
const help = (text: string) => `[ALPHA] ${text}`;

function made<Definition extends MetricDefinition>({ name, labels, ...definition }: Definition) {
  return { name, help: helpOf(definition), labelNames: [...labels] };
}

export function createSyncMetrics() {
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

  const observer: SyncObserver = {
    serverRead: ({ seconds, result }) => reads.observe({ result }, seconds),
    delivered({ target, seconds, result }) {
      deliveries.inc({ target, result });
      deliveryDurations.observe({ target }, seconds);
    },
  };
  return {
    ...observer,
    contentType: register.contentType,
    text(status: SyncStatus | undefined): Promise<string> {
      update(status);
      return register.metrics();
    },
  };
}

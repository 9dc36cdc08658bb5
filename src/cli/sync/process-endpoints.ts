import { Hono } from 'hono/tiny';
import { statusResponse } from '../../apimachinery/status.ts';
import { familiesOf, readBuckets, syncCatalogue, updateSync } from '../../node/metrics/catalogue.ts';
import { counter, expose, gauge, histogram } from '../../node/metrics/metric-family.ts';
import { observeProcess, processMetrics } from '../../node/metrics/process-metrics.ts';
import { startEndpointServer } from '../../node/serving/endpoint-server.ts';
import { type HealthCheck, healthEndpoints, ping } from '../../own-paths/health.ts';
import { metricsResponse } from '../../own-paths/metrics-endpoints.ts';
import { inboundFromRequest } from '../../request/inbound.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { SyncObserver } from '../../sync/documents/sync-server.ts';
import type { SyncStatus } from '../../sync/sync-loop.ts';

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
  app.get('/metrics', async ({ req: { raw } }) =>
    metricsResponse(inboundFromRequest(raw), await metrics.text(status())),
  );
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
  clock: () => number,
): { readonly livez: readonly HealthCheck[]; readonly readyz: readonly HealthCheck[] } {
  const rounds = (): string | undefined => {
    const lastRoundAt = status()?.lastRoundAt;
    if (lastRoundAt === undefined) return 'no round has ended yet';
    const age = clock() - lastRoundAt;
    return age > longestWithoutRound ? `the last round ended ${Math.round(age / 1000)} s ago` : undefined;
  };
  const servers = () =>
    status()?.servers.some(({ state }) => state === 'ready') ? undefined : 'no API server can be read';
  const deliveries = () =>
    status()?.targets.some(({ heldGeneration }) => heldGeneration !== undefined)
      ? undefined
      : 'no target holds the snapshot';
  return {
    livez: [ping],
    readyz: [
      ping,
      { name: 'rounds', check: rounds },
      { name: 'servers', check: servers },
      { name: 'deliveries', check: deliveries },
    ],
  };
}

type SyncMetrics = ReturnType<typeof createSyncMetrics>;

const prefix = 'mixed_version_proxy_sync_';
const jobCatalogue = {
  ...syncCatalogue,
  generation: gauge(
    `${prefix}generation`,
    'Generation of the snapshot that is being delivered. 0 while there is none.',
    [],
  ),
  lastDelivery: gauge(
    `${prefix}last_successful_delivery_timestamp_seconds`,
    'Last delivery that the target has taken, seconds since the epoch. Before the first: the start of the sync job.',
    ['target'],
  ),
  deliveries: counter(
    `${prefix}deliveries_total`,
    'Deliveries by target and result: accepted, newer-held, refused, unreachable.',
    ['target', 'result'],
  ),
  deliveryDurations: histogram(
    `${prefix}delivery_duration_seconds`,
    'Duration of one delivery, by target.',
    ['target'],
    readBuckets,
  ),
};

export function createSyncMetrics() {
  const families = familiesOf(jobCatalogue);
  const { generation, lastDelivery, reads, deliveries, deliveryDurations } = families;
  const observer: SyncObserver = {
    serverRead: ({ seconds, result }) => reads.with(result).observe(seconds),
    delivered({ target, seconds, result }) {
      deliveries.with(target, result).add();
      deliveryDurations.with(target).observe(seconds);
    },
  };
  observeProcess();
  const startedAt = Date.now();
  return {
    ...observer,
    async text(status: SyncStatus | undefined): Promise<string> {
      generation.with().set(status?.generation ?? 0);
      updateSync(families, { servers: status?.servers ?? [], lastRoundAt: status?.lastRoundAt });
      for (const { target, lastAcceptedAt = startedAt } of status?.targets ?? []) {
        lastDelivery.with(target).set(lastAcceptedAt / 1000);
      }
      return expose(Object.values(families)) + (await processMetrics());
    },
  };
}

import { Hono } from 'hono';
import { textResponse } from '../../apimachinery/content-coding.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import { startEndpointServer } from '../../node/serving/endpoint-server.ts';
import { type HealthCheck, healthEndpoints, ping } from '../../own-paths/health.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { SyncStatus } from '../sync-loop.ts';
import type { SyncMetrics } from './sync-metrics.ts';

export interface ProcessEndpointsOptions {
  /** An IP address. Default 127.0.0.1: clients see the generation and the targets' names. */
  readonly address?: string | undefined;
  /** 0: any free port. */
  readonly port: number;
  readonly metrics: SyncMetrics;
  /** The current status; `undefined` before the loop starts. */
  readonly status: () => SyncStatus | undefined;
  /** Milliseconds since the epoch; default `Date.now`. */
  readonly now?: (() => number) | undefined;
  readonly logger?: Logger | undefined;
}

export interface ProcessEndpoints {
  /** `http://host:port`. */
  readonly origin: string;
  close(): Promise<void>;
}

/**
 * `/livez`, `/readyz`, `/healthz` and `/metrics` of a sync job, for a kubelet, a monitor and an operator.
 * @throws if it cannot listen on the address
 *
 * @example
 * ```ts
 * const endpoints = await startProcessEndpoints({
 *   port: 0,
 *   metrics: createSyncMetrics(),
 *   status: () => undefined,
 * });
 * console.log((await fetch(`${endpoints.origin}/livez`)).status); // 200
 * await endpoints.close();
 * ```
 */
export async function startProcessEndpoints(options: ProcessEndpointsOptions): Promise<ProcessEndpoints> {
  const { address = '127.0.0.1', port, metrics, status, now = Date.now, logger = silentLogger } = options;
  const app = new Hono();
  app.route('/', healthEndpoints({ ...syncHealth(status, now), logger }));
  app.get('/metrics', async ({ req }) => {
    const text = await metrics.text(status());
    return textResponse(text, { 'content-type': metrics.contentType }, req.header('accept-encoding'));
  });
  app.notFound(({ req }) => statusResponse('NotFound', `the sync job has no ${req.path}`));
  const { origin, close } = await startEndpointServer({
    host: address,
    port,
    fetch: (request) => app.fetch(request),
    flag: '--bind-address',
  });
  return { origin, close };
}

/** How long no round may end, milliseconds. Rounds begin every second, and wait at most two for slow servers. */
const longestWithoutRound = 30_000;

/**
 * The checks of a sync job. livez: it runs. readyz: it reads servers, and at least one target holds its snapshot. A single
 * router that is down does not make the sync job unready.
 *
 * @param status the current status; `undefined` before the loop starts
 * @param now milliseconds since the epoch
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

import { type Context, Hono } from 'hono';
import { rerouteMarkHeader } from '../proxy/header-hygiene.ts';
import { type HealthCheck, type HealthReportOptions, reportHealth } from './health.ts';
import { type Logger, silentLogger } from './logger.ts';

/** As in the path, and as in the `type` of Kubernetes' health metrics. */
export type HealthEndpoint = 'livez' | 'readyz' | 'healthz';

export interface HealthEndpointsOptions {
  /** Is the process itself all right. */
  readonly livez: readonly HealthCheck[];
  /** Can it do its work. `/healthz` answers the same. */
  readonly readyz: readonly HealthCheck[];
  readonly logger?: Logger;
  /** Told of each check that was run, for metrics. */
  readonly onChecked?: ((endpoint: HealthEndpoint, name: string, healthy: boolean) => void) | undefined;
}

/** `/livez`, `/readyz` and `/healthz`, with `?verbose`, `?exclude=` and one path a check; open to everyone. */
export function healthEndpoints(options: HealthEndpointsOptions): Hono {
  const { livez, readyz, logger = silentLogger, onChecked } = options;
  const app = new Hono();
  for (const [endpoint, checks] of [
    ['livez', livez],
    ['readyz', readyz],
    ['healthz', readyz],
  ] as const) {
    const told = { onChecked: (name: string, healthy: boolean) => onChecked?.(endpoint, name, healthy) };
    app.get(`/${endpoint}`, (context) => {
      const verbose = context.req.query('verbose') !== undefined;
      const exclude = context.req.queries('exclude') ?? [];
      return answer(endpoint, checks, { verbose, exclude, byPeer: isMarked(context), ...told }, logger);
    });
    app.get(`/${endpoint}/:name`, (context, next) => {
      const named = checks.filter((check) => check.name === context.req.param('name'));
      if (named.length === 0) return next();
      const options = { verbose: false, exclude: [], byPeer: isMarked(context), ...told };
      return Promise.resolve(answer(endpoint, named, options, logger));
    });
  }
  return app;
}

/** Believed from everyone: all that it changes is which question is answered. */
function isMarked(context: Context): boolean {
  return context.req.header(rerouteMarkHeader) === 'true';
}

function answer(
  endpoint: string,
  checks: readonly HealthCheck[],
  options: HealthReportOptions,
  logger: Logger,
): Response {
  const { healthy, body, failures } = reportHealth(endpoint, checks, options);
  if (!healthy) logger.debug({ endpoint, failures }, 'A health check failed');
  return new Response(body, {
    status: healthy ? 200 : 500,
    headers: {
      'cache-control': 'no-cache, private',
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    },
  });
}

import { Hono } from 'hono';
import { type HealthCheck, reportHealth } from './health.ts';
import { type Logger, silentLogger } from './logger.ts';

export interface HealthEndpointsOptions {
  /** Is the process itself all right. */
  readonly livez: readonly HealthCheck[];
  /** Can it do its work. `/healthz` answers the same. */
  readonly readyz: readonly HealthCheck[];
  readonly logger?: Logger;
}

/** `/livez`, `/readyz` and `/healthz`, with `?verbose`, `?exclude=` and one path a check; open to everyone. */
export function healthEndpoints(options: HealthEndpointsOptions): Hono {
  const { livez, readyz, logger = silentLogger } = options;
  const app = new Hono();
  for (const [endpoint, checks] of [
    ['livez', livez],
    ['readyz', readyz],
    ['healthz', readyz],
  ] as const) {
    app.get(`/${endpoint}`, (context) => {
      const verbose = context.req.query('verbose') !== undefined;
      const exclude = context.req.queries('exclude') ?? [];
      return answer(endpoint, checks, { verbose, exclude }, logger);
    });
    app.get(`/${endpoint}/:name`, (context, next) => {
      const named = checks.filter((check) => check.name === context.req.param('name'));
      if (named.length === 0) return next();
      return Promise.resolve(answer(endpoint, named, { verbose: false, exclude: [] }, logger));
    });
  }
  return app;
}

function answer(
  endpoint: string,
  checks: readonly HealthCheck[],
  options: { readonly verbose: boolean; readonly exclude: readonly string[] },
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

import { type Context, Hono, type MiddlewareHandler } from 'hono';
import { rerouteMarkHeader } from '../../request/header-hygiene.ts';
import type { HandlerEnvironment } from '../../request/router.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import { type HealthCheck, type HealthReport, reportHealth } from './health.ts';
import type { AskServerChecks } from './server-checks.ts';

/** As in the path, and as in the `type` of Kubernetes' health metrics. */
export type HealthEndpoint = 'livez' | 'readyz' | 'healthz';

interface HealthEndpointsOptions {
  /** Is the process itself all right. */
  readonly livez: readonly HealthCheck[];
  /** Can it do its work. `/healthz` is the same. */
  readonly readyz: readonly HealthCheck[];
  /** Stands before each of them. Default: nothing does. */
  readonly accept?: MiddlewareHandler<HandlerEnvironment> | undefined;
  readonly logger?: Logger;
  /** Asks API servers for their own checks, where `?verbose` or an exclusion calls for it. Default: none is asked. */
  readonly askServers?: AskServerChecks | undefined;
  /** Told of each check that was run, for metrics. */
  readonly onChecked?: ((endpoint: HealthEndpoint, name: string, healthy: boolean) => void) | undefined;
}

/**
 * `/livez`, `/readyz` and `/healthz`, with `?verbose`, `?exclude=` and one path a check; open to everyone. A path of a
 * check that the router does not have is none of these.
 */
export function healthEndpoints(options: HealthEndpointsOptions): Hono<HandlerEnvironment> {
  const { livez, readyz, logger = silentLogger, onChecked, askServers, accept = passOn } = options;
  const app = new Hono<HandlerEnvironment>();
  for (const [endpoint, checks] of [
    ['livez', livez],
    ['readyz', readyz],
    ['healthz', readyz],
  ] as const) {
    const told = { onChecked: (name: string, healthy: boolean) => onChecked?.(endpoint, name, healthy) };
    app.get(`/${endpoint}`, accept, async (context) => {
      const verbose = context.req.query('verbose') !== undefined;
      const exclude = context.req.queries('exclude') ?? [];
      const options = { verbose, exclude, byPeer: isMarked(context), ...told };
      const report = reportHealth(endpoint, checks, options);
      const isForServers = exclude.some((name) => !checks.some((check) => check.name === name));
      // Probes ask for neither: they cost no request to a server.
      if (askServers === undefined || (!verbose && (report.healthy || !isForServers))) {
        return respond(endpoint, report, logger);
      }
      const servers = await askServers(context.var, endpoint, exclude);
      const withServers = reportHealth(endpoint, checks, { ...options, servers, onChecked: undefined });
      return respond(endpoint, withServers, logger);
    });
    for (const check of checks) {
      app.get(`/${endpoint}/${check.name}`, accept, (context) => {
        const options = { verbose: false, exclude: [], byPeer: isMarked(context), ...told };
        return respond(endpoint, reportHealth(endpoint, [check], options), logger);
      });
    }
  }
  return app;
}

const passOn: MiddlewareHandler<HandlerEnvironment> = (_context, next) => next();

/** Believed from everyone: all that it changes is which question gets a response. */
function isMarked(context: Context<HandlerEnvironment>): boolean {
  return context.req.header(rerouteMarkHeader) === 'true';
}

function respond(endpoint: string, { healthy, body, failures }: HealthReport, logger: Logger): Response {
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

import { type Handler, Hono, type MiddlewareHandler } from 'hono';
import { pageStateSource } from './dashboard/page-state.ts';
import { createDelegatedAuthorizer } from './own-paths/delegated-authorizer.ts';
import { healthEndpoints } from './own-paths/health-checks/health-endpoints.ts';
import { routerHealthChecks } from './own-paths/health-checks/router-health-checks.ts';
import { createServerChecks } from './own-paths/health-checks/server-checks.ts';
import { type MetricsSource, metricsEndpoints } from './own-paths/metrics-endpoints.ts';
import { onlyAuthorizedCallers } from './own-paths/only-authorized-callers.ts';
import {
  acceptOwnRequest,
  identifyCaller,
  type OwnPathsOptions,
  ownPaths,
  type StatusPageParts,
} from './own-paths/own-paths.ts';
import type { RecentDecisions } from './own-paths/status/recent-decisions.ts';
import type { MiddlewareOptions } from './proxy/middleware.ts';
import { internalError } from './request/handle-request.ts';
import { ownPathsPrefix } from './request/own-path-target.ts';
import { type HandlerEnvironment, type Router, webInbound } from './request/router.ts';
import { silentLogger } from './runtime/logger.ts';

/** Options of the paths that the router serves itself. */
export interface OwnAppOptions extends OwnPathsOptions, Pick<MiddlewareOptions, 'inbound'> {
  /** What the status page shows of decisions; one of `observers` as well. Default: it shows none. */
  readonly recentDecisions?: RecentDecisions | undefined;
  /** Whether the process has been asked to end: `/readyz` fails from then on. Default: there is no such check. */
  readonly isShuttingDown?: () => boolean;
  /** What `metrics` and `metrics/slis` serve under `/.mixed-version-proxy/`. Default: there are no such paths. */
  readonly metrics?: MetricsSource | undefined;
}

/**
 * The paths that the router serves itself. Each part follows what it needs: accept for all, identify for its own paths.
 *
 * @param toApiServer handles what is not the router's own after all: a health check that only API servers have
 */
export function createOwnApp(
  options: OwnAppOptions,
  router: Router,
  toApiServer: Handler<HandlerEnvironment>,
): Hono<HandlerEnvironment> {
  const { inbound = webInbound, logger = silentLogger, clock = Date.now } = options;
  const { metrics } = options;
  const healthChecks = routerHealthChecks(options);
  const accept = acceptOwnRequest(router, inbound);
  const app = new Hono<HandlerEnvironment>();

  // /livez, /readyz, /healthz: the router's own health, open to everyone; beside it what API servers show of theirs to
  // this caller.
  const onChecked = metrics?.healthChecked.bind(metrics);
  const askServers = createServerChecks({ ...options, router });
  app.route('/', healthEndpoints({ ...healthChecks, accept, logger, onChecked, askServers }));

  // /.mixed-version-proxy/: who is calling is established first (401), and a server is asked whether they may (403, 503).
  const authorize = createDelegatedAuthorizer({ ...options, router });
  const onlyAuthorized = onlyAuthorizedCallers(authorize);
  app.use(`${ownPathsPrefix}/*`, accept, identifyCaller(router));
  // Metrics. Under their plain names these paths are the API server's.
  if (metrics !== undefined) {
    app.route(ownPathsPrefix, metricsEndpoints({ metrics, healthChecks }, onlyAuthorized));
  }
  // Snapshot, explain, status and its page.
  const statusPage = (parts: StatusPageParts) => statusPageHandler(options, clock, parts);
  const parts = { authorize, readinessChecks: healthChecks.readyz, statusPage };
  app.route(ownPathsPrefix, ownPaths(options, parts));

  app.all('*', toApiServer);
  app.onError((error, context) => internalError(error, logger, context.var.inbound));
  return app;
}

function statusPageHandler(
  options: OwnAppOptions,
  clock: () => number,
  { status, explain }: StatusPageParts,
): MiddlewareHandler<HandlerEnvironment> {
  const state = pageStateSource(options, clock, status);
  return async (context, next) => {
    const { req } = context;
    // A module of its own, with a page's style and script: most processes are never asked for it.
    const { statusPage } = await import('./dashboard/status-page.ts');
    const sources = {
      state,
      explain,
      acceptEncoding: req.header('accept-encoding'),
    };
    return (await statusPage(req.path, req.query(), sources)) ?? next();
  };
}

import { type Handler, Hono } from 'hono';
import type { AppOptions } from './app.ts';
import { defaultAllowedCallers } from './identity/authorize.ts';
import { healthEndpoints } from './own-paths/health-checks/health-endpoints.ts';
import { routerHealthChecks } from './own-paths/health-checks/router-health-checks.ts';
import { createServerChecks } from './own-paths/health-checks/server-checks.ts';
import { metricsEndpoints } from './own-paths/metrics-endpoints.ts';
import { oidcDocuments } from './own-paths/oidc-documents.ts';
import { ownPaths } from './own-paths/own-paths.ts';
import { acceptOwnRequest, identifyCaller } from './own-paths/own-request.ts';
import { zPages } from './own-paths/z-pages.ts';
import { type HandlerEnvironment, webInbound } from './request/handler-environment.ts';
import { internalError } from './request/internal-error.ts';
import { ownPathsPrefix } from './request/own-path-target.ts';
import type { Router } from './request/router.ts';
import { silentLogger } from './runtime/logger.ts';

export interface OwnAppOptions extends AppOptions {
  readonly router: Router;
  /** Handles what is not the router's own after all: a health check that only API servers have. */
  readonly toApiServer: Handler<HandlerEnvironment>;
}

/** The paths that the router serves itself. Each part follows what it needs: accept for all, identify for its own paths. */
export function createOwnApp(options: OwnAppOptions): Hono<HandlerEnvironment> {
  const { router, toApiServer, allowedCallers = defaultAllowedCallers } = options;
  const { inbound = webInbound, logger = silentLogger, clock = Date.now } = options;
  const { metrics, processFacts, settings, oidcIssuer } = options;
  const healthChecks = routerHealthChecks(options);
  const accept = acceptOwnRequest(router, inbound);
  const app = new Hono<HandlerEnvironment>();

  // /livez, /readyz, /healthz: the router's own health, open to everyone; beside it what API servers show of theirs to
  // this caller.
  const onChecked = metrics?.healthChecked.bind(metrics);
  const askServers = createServerChecks(options);
  app.route('/', healthEndpoints({ ...healthChecks, accept, logger, onChecked, askServers }));
  // The OIDC issuer's two documents, open to everyone, where there is an issuer.
  if (oidcIssuer !== undefined) app.route('/', oidcDocuments(oidcIssuer, accept));

  // /.mixed-version-proxy/: who is calling is established first (401).
  app.use(`${ownPathsPrefix}/*`, accept, identifyCaller(router));
  // Metrics, statusz and flagz, for allowed callers and for monitors (403). Under their plain names these paths are the
  // API server's.
  if (metrics !== undefined) {
    app.route(ownPathsPrefix, metricsEndpoints({ metrics, healthChecks }, allowedCallers));
  }
  if (processFacts !== undefined) {
    const pages = { facts: processFacts, settings, prefix: ownPathsPrefix };
    app.route(ownPathsPrefix, zPages(pages, allowedCallers, clock));
  }
  // Snapshot, explain, status and its page: for allowed callers only.
  app.route(ownPathsPrefix, ownPaths({ ...options, readinessChecks: healthChecks.readyz }, allowedCallers));

  app.all('*', toApiServer);
  app.onError((error, context) => internalError(error, logger, context.var.inbound));
  return app;
}

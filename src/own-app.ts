import { type Handler, Hono } from 'hono';
import type { AppOptions } from './app.ts';
import { defaultAllowedCallers } from './identity/authorize.ts';
import { healthEndpoints } from './observe/health-endpoints.ts';
import { silentLogger } from './observe/logger.ts';
import { metricsEndpoints } from './observe/metrics-endpoints.ts';
import { routerHealthChecks } from './observe/router-health-checks.ts';
import { zPages } from './observe/z-pages.ts';
import { type HandlerEnvironment, webInbound } from './proxy/handler-environment.ts';
import { createServerChecks } from './proxy/health/server-checks.ts';
import { internalError } from './proxy/internal-error.ts';
import { oidcDocuments } from './proxy/oidc-documents.ts';
import { ownPathsPrefix } from './proxy/own-path-target.ts';
import { ownPaths } from './proxy/own-paths.ts';
import { acceptOwnRequest, identifyCaller } from './proxy/own-request.ts';
import type { Router } from './proxy/router.ts';

export interface OwnAppOptions extends AppOptions {
  readonly router: Router;
  /** Handles what is not the router's own after all: a health check that only API servers have. */
  readonly toApiServer: Handler<HandlerEnvironment>;
}

/** What the router answers itself. Each part has before it what it needs: accept for all, identify for its own paths. */
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

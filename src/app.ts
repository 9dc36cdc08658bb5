import { Hono } from 'hono';
import { type AllowedCallers, defaultAllowedCallers } from './identity/authorize.ts';
import type { OidcIssuer } from './identity/oidc-token/oidc-issuer.ts';
import type { CredentialFiles } from './observe/credential-files.ts';
import { healthEndpoints } from './observe/health-endpoints.ts';
import { silentLogger } from './observe/logger.ts';
import { metricsEndpoints } from './observe/metrics-endpoints.ts';
import type { MetricsSource } from './observe/metrics-source.ts';
import type { RecentDecisions } from './observe/recent-decisions.ts';
import { routerHealthChecks } from './observe/router-health-checks.ts';
import type { SettingsState } from './observe/setting-change.ts';
import { type ProcessFacts, zPages } from './observe/z-pages.ts';
import { createRouter } from './proxy/create-router.ts';
import type { HandlerEnvironment } from './proxy/handler-environment.ts';
import { createServerChecks } from './proxy/health/server-checks.ts';
import { internalError } from './proxy/internal-error.ts';
import {
  acceptRequest,
  identifyCaller,
  localServer,
  type MiddlewareOptions,
  routeRequest,
} from './proxy/middleware.ts';
import { oidcDocuments } from './proxy/oidc-documents.ts';
import { ownPathsPrefix } from './proxy/own-path-target.ts';
import { ownPaths } from './proxy/own-paths.ts';
import { refuseDisguisedOwnPaths } from './proxy/refuse-disguised-own-paths.ts';
import type { Router } from './proxy/router.ts';
import type { SnapshotReceiver } from './snapshot/receiver.ts';

export interface AppOptions extends MiddlewareOptions {
  /** Takes pushed snapshots; its table is the one that is routed by. */
  readonly routingTable: SnapshotReceiver;
  /** Who may use `/.mixed-version-proxy/`. Default: the group `system:masters`. */
  readonly allowedCallers?: AllowedCallers;
  /** What `v1/status` shows about certificates and key files. Default: nothing. */
  readonly credentialFiles?: CredentialFiles;
  /** What `v1/status` and `statusz` show of settings that wait for a restart. Default: there are none. */
  readonly settings?: SettingsState;
  /** What the status page shows of decisions; one of `observers` as well. Default: it shows none. */
  readonly recentDecisions?: RecentDecisions | undefined;
  /** Whose tokens `identityTokens` signs: API servers fetch its public keys here. Default: no issuer. */
  readonly oidcIssuer?: OidcIssuer | undefined;
  /** For a runtime that carries upgrades past the fetch handler: the same router. Default: one of its own. */
  readonly router?: Router;
  /** Whether the process has been asked to end: `/readyz` fails from then on. Default: there is no such check. */
  readonly isShuttingDown?: () => boolean;
  /** What `metrics` and `metrics/slis` answer under `/.mixed-version-proxy/`. Default: there are no such paths. */
  readonly metrics?: MetricsSource | undefined;
  /** What `statusz` and `flagz` tell under `/.mixed-version-proxy/`. Default: there are no such paths. */
  readonly processFacts?: ProcessFacts | undefined;
}

/** The whole router as one portable fetch handler: the chain a request passes, in order. */
export function createApp(options: AppOptions): Hono<HandlerEnvironment> {
  const {
    router = createRouter(options),
    allowedCallers = defaultAllowedCallers,
    logger = silentLogger,
  } = options;
  const app = new Hono<HandlerEnvironment>();

  // 1. The request as it stood on the wire; a path that two parsers could read differently ends here (400).
  app.use(acceptRequest(router, options.inbound));
  app.use(refuseDisguisedOwnPaths);
  // 2. /livez, /readyz, /healthz: the router's own health, open to everyone; beside it what API servers show of
  //    theirs to this caller.
  const healthChecks = routerHealthChecks(options);
  const { metrics, processFacts, settings } = options;
  const onChecked = metrics?.healthChecked.bind(metrics);
  const askServers = createServerChecks({ ...options, router });
  app.route('/', healthEndpoints({ ...healthChecks, logger, onChecked, askServers }));
  //    So are the OIDC issuer's two documents, where there is an issuer.
  if (options.oidcIssuer !== undefined) app.route('/', oidcDocuments(options.oidcIssuer));
  // 3. Who is calling: established once (401).
  app.use(identifyCaller(router));
  // 4. /.mixed-version-proxy/: metrics, statusz and flagz, for allowed callers and for monitors (401, 403). Under
  //    their plain names these paths are the API server's.
  if (metrics !== undefined) {
    app.route(ownPathsPrefix, metricsEndpoints({ metrics, healthChecks }, allowedCallers));
  }
  if (processFacts !== undefined) {
    const pages = { facts: processFacts, settings, prefix: ownPathsPrefix };
    app.route(ownPathsPrefix, zPages(pages, allowedCallers, options.clock ?? Date.now));
  }
  //    Snapshot, explain, status and its page: for allowed callers only.
  app.route(ownPathsPrefix, ownPaths({ ...options, readinessChecks: healthChecks.readyz }, allowedCallers));
  // 5. The decision: peer, extension and unavailable are answered here; merged documents are prepared.
  app.use(routeRequest(router, options));
  // 6. Everything else is the local server's.
  app.all('*', localServer(router, options));

  app.onError((error, context) => internalError(error, logger, context.var.inbound));
  return app;
}

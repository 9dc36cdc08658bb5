import { Hono } from 'hono';
import { statusResponse } from './apimachinery/status.ts';
import { type AllowedCallers, defaultAllowedCallers } from './identity/authorize.ts';
import type { OidcIssuer } from './identity/oidc-token/oidc-issuer.ts';
import type { CredentialFiles } from './observe/credential-files.ts';
import { ping } from './observe/health.ts';
import { healthEndpoints } from './observe/health-endpoints.ts';
import { type Logger, silentLogger } from './observe/logger.ts';
import { snapshotCheck } from './observe/snapshot-check.ts';
import { createRouter } from './proxy/create-router.ts';
import type { HandlerEnvironment } from './proxy/handler-environment.ts';
import {
  acceptRequest,
  identifyCaller,
  localServer,
  type MiddlewareOptions,
  routeRequest,
} from './proxy/middleware.ts';
import { oidcDocuments } from './proxy/oidc-documents.ts';
import { ownPathsPrefix } from './proxy/own-path-target.ts';
import { ownPaths, refuseDisguisedOwnPaths } from './proxy/own-paths.ts';
import type { Router } from './proxy/router.ts';
import type { SnapshotReceiver } from './snapshot/receiver.ts';

export interface AppOptions extends MiddlewareOptions {
  /** Takes pushed snapshots; its table is the one that is routed by. */
  readonly routingTable: SnapshotReceiver;
  /** Who may use `/.mixed-version-proxy/`. Default: the group `system:masters`. */
  readonly allowedCallers?: AllowedCallers;
  /** What `v1/status` shows about certificates and key files. Default: nothing. */
  readonly credentialFiles?: CredentialFiles;
  /** Whose tokens `identityTokens` signs: API servers fetch its public keys here. Default: no issuer. */
  readonly oidcIssuer?: OidcIssuer | undefined;
  /** For a runtime that carries upgrades past the fetch handler: the same router. Default: one of its own. */
  readonly router?: Router;
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
  // 2. /livez, /readyz, /healthz: the router's own health, open to everyone.
  app.route('/', healthEndpoints({ livez: [ping], readyz: [ping, snapshotCheck(options)], logger }));
  //    So are the OIDC issuer's two documents, where there is an issuer.
  if (options.oidcIssuer !== undefined) app.route('/', oidcDocuments(options.oidcIssuer));
  // 3. Who is calling: established once (401).
  app.use(identifyCaller(router));
  // 4. /.mixed-version-proxy/: snapshot, explain, status, for allowed callers only (401, 403).
  app.route(ownPathsPrefix, ownPaths(options, allowedCallers));
  // 5. The decision: peer, extension and unavailable are answered here; merged documents are prepared.
  app.use(routeRequest(router, options));
  // 6. Everything else is the local server's.
  app.all('*', localServer(router, options));

  app.onError((error) => internalError(error, logger));
  return app;
}

/** A fault of the router itself: told to its operator, not to the client. */
function internalError(error: Error, logger: Logger): Response {
  logger.error({ err: error }, 'A request ended in an internal error');
  return statusResponse('InternalError', 'Internal error occurred: the router could not handle the request');
}

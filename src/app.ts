import { type Handler, Hono } from 'hono';
import type { AllowedCallers } from './identity/authorize.ts';
import type { OidcIssuer } from './identity/oidc-token/oidc-issuer.ts';
import type { MetricsSource } from './own-paths/health-checks/metrics-source.ts';
import { refuseDisguisedOwnPath } from './own-paths/refuse-own-path.ts';
import type { CredentialFiles } from './own-paths/status/credential-files.ts';
import type { EmbeddedSyncSource } from './own-paths/status/embedded-sync-status.ts';
import type { RecentDecisions } from './own-paths/status/recent-decisions.ts';
import type { SettingsState } from './own-paths/status/setting-change.ts';
import type { AdvertisedSource } from './own-paths/tell-advertised-address.ts';
import type { ProcessFacts } from './own-paths/z-pages.ts';
import { createRouter } from './proxy/create-router.ts';
import { forward } from './proxy/forward.ts';
import type { MiddlewareOptions } from './proxy/middleware.ts';
import { replacementFor } from './proxy/replacement.ts';
import { handleRequest } from './request/handle-request.ts';
import { type HandlerEnvironment, webInbound } from './request/handler-environment.ts';
import { internalError } from './request/internal-error.ts';
import { ownPathsPrefix } from './request/own-path-target.ts';
import type { Router } from './request/router.ts';
import { silentLogger } from './runtime/logger.ts';
import type { SnapshotReceiver } from './snapshot/receiving/receiver.ts';

export interface AppOptions extends MiddlewareOptions {
  /** Takes pushed snapshots; its table is the one that is routed by. */
  readonly routingTable: SnapshotReceiver;
  /** Who may use `/.mixed-version-proxy/`. Default: the group `system:masters`. */
  readonly allowedCallers?: AllowedCallers;
  /** What `v1/status` shows about certificates and key files. Default: nothing. */
  readonly credentialFiles?: CredentialFiles;
  /** Where peers should call this router: told to the sync job, which brings it to the others. Default: it says nothing. */
  readonly advertised?: AdvertisedSource | undefined;
  /** The sync job in this process, which makes the snapshots. Default: they are pushed. */
  readonly embeddedSync?: EmbeddedSyncSource | undefined;
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
  /** What `metrics` and `metrics/slis` serve under `/.mixed-version-proxy/`. Default: there are no such paths. */
  readonly metrics?: MetricsSource | undefined;
  /** What `statusz` and `flagz` tell under `/.mixed-version-proxy/`. Default: there are no such paths. */
  readonly processFacts?: ProcessFacts | undefined;
}

/**
 * The whole router as one portable fetch handler. A request for a resource meets exactly one handler, which Hono then
 * calls without composing a chain.
 *
 * @example
 * ```ts
 * const app = createApp({ serverId, local, routingTable: receiver, transport });
 * const response = await app.fetch(new Request('https://router.example/readyz'));
 * console.log(response.status); // 200
 * ```
 */
export function createApp(options: AppOptions): Hono<HandlerEnvironment> {
  const { router = createRouter(options), inbound = webInbound, logger = silentLogger } = options;
  const { transport, routingTable, oidcIssuer } = options;
  const app = new Hono<HandlerEnvironment>();

  // What is an API server's: accept, identify, decide, forward, name, observe.
  const toApiServer: Handler<HandlerEnvironment> = (context) =>
    handleRequest(inbound(context), router, logger, (request) => {
      const refusal = refuseDisguisedOwnPath(request);
      if (refusal !== undefined) return refusal;
      // A merged document, or what a missing snapshot makes of a 404; for a resource there is none.
      const replacement = replacementFor(request, routingTable.current(), options);
      return replacement instanceof Promise
        ? replacement.then((document) => forward(request, router, transport, document))
        : forward(request, router, transport, replacement);
    });

  // What the router serves itself: health, the OIDC issuer's documents, /.mixed-version-proxy/.
  const own = whenAsked(async () => {
    const { createOwnApp } = await import('./own-app.ts');
    return createOwnApp({ ...options, router, toApiServer });
  });
  for (const path of ['/livez', '/readyz', '/healthz']) app.get(path, own).get(`${path}/*`, own);
  if (oidcIssuer !== undefined) app.get(oidcIssuer.configurationPath, own).get(oidcIssuer.keysPath, own);
  app.all(`${ownPathsPrefix}/*`, own);

  app.all('*', toApiServer);
  app.onError((error) => internalError(error, logger));
  return app;
}

/**
 * A part of the app in a module of its own, loaded by the first request for it: a Worker's start compiles what its
 * entry imports (docs/decisions/0008).
 */
function whenAsked(load: () => Promise<Hono<HandlerEnvironment>>): Handler<HandlerEnvironment> {
  let part: Hono<HandlerEnvironment> | undefined;
  return async (context) => {
    if (part === undefined) {
      // Only what is finished is kept, and the first of it: on a Worker a promise belongs to the request that made it.
      const loaded = await load();
      part ??= loaded;
    }
    return part.fetch(context.req.raw, context.env);
  };
}

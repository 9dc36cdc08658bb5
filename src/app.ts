import type { Handler } from 'hono';
// For few routes: Hono's other routers are 2 KB gzipped of what a Worker loads with its first request.
import { Hono } from 'hono/tiny';
import { internalError } from './apimachinery/status.ts';
import type { OwnAppOptions } from './own-app.ts';
import { createCarrier, createRouter } from './proxy/router.ts';
import { ownPathsPrefix, refuseDisguisedOwnPath } from './request/own-path-target.ts';
import { type HandlerEnvironment, handleRequest, type Router, webInbound } from './request/router.ts';
import { ownResponse, responseOf } from './request/transport.ts';
import { silentLogger } from './runtime/logger.ts';

export interface AppOptions extends OwnAppOptions {
  /** For a runtime that carries upgrades past the fetch handler: the same router. Default: one of its own. */
  readonly router?: Router;
}

/**
 * The whole router as one portable fetch handler. A request for a resource meets exactly one handler, which Hono then
 * calls without composing a chain.
 *
 * @example
 * ```ts
 * const app = createApp({ local, routingTable: receiver, transport });
 * const response = await app.fetch(new Request('https://router.example/readyz'));
 * console.log(response.status); // 200
 * ```
 */
export function createApp(options: AppOptions): Hono<HandlerEnvironment> {
  const { router = createRouter(options), inbound = webInbound, logger = silentLogger } = options;
  const { carry } = createCarrier(options, router);
  const app = new Hono<HandlerEnvironment>();

  // What is an API server's. Before the function below: accept (400), authenticate (401, `options.authenticators`) and
  // decide; after it: the audit ID, and the observers.
  const toApiServer: Handler<HandlerEnvironment> = (context) =>
    handleRequest(inbound(context), router, logger, (request) => {
      const refusal = refuseDisguisedOwnPath(request);
      return refusal === undefined ? carry(request) : ownResponse(refusal);
    }).then(responseOf);

  // What the router serves itself: health for everyone; /.mixed-version-proxy/ for allowed callers, whom it
  // authenticates first.
  const own = whenAsked(async () => {
    const { createOwnApp } = await import('./own-app.ts');
    return createOwnApp(options, router, toApiServer);
  });
  for (const path of ['/livez', '/readyz', '/healthz']) app.get(path, own).get(`${path}/*`, own);
  app.all(`${ownPathsPrefix}/*`, own);

  app.all('*', toApiServer);
  app.onError((error) => internalError(error, logger));
  return app;
}

/**
 * A part of the app in a module of its own, loaded by the first request for it: a Worker's first request
 * loads what it needs itself (docs/decisions/0008).
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

import type { Handler } from 'hono';
// For few routes: Hono's other routers are 2 KB gzipped of what a Worker loads with its first request.
import { Hono } from 'hono/tiny';
import { internalError } from './apimachinery/status.ts';
import type { OwnAppOptions } from './own-app.ts';
import { resolveOptions } from './proxy/options.ts';
import { createCarrier, createRouter, handleRequest } from './proxy/router.ts';
import { ownPathsPrefix, refuseDisguisedOwnPath } from './request/own-path-target.ts';
import { type AdmittedRequest, type HandlerEnvironment, type Router, webInbound } from './request/router.ts';
import { type Outcome, ownResponse, responseOf, sentElsewhere } from './request/transport.ts';

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
  const settings = resolveOptions(options);
  const { router = createRouter(settings), inbound = webInbound, logger } = settings;
  const { carry } = createCarrier(settings, router);
  const app = new Hono<HandlerEnvironment>();

  const serve = (request: AdmittedRequest): Outcome | Promise<Outcome> => {
    const refusal = refuseDisguisedOwnPath(request);
    return refusal === undefined ? carry(request) : ownResponse(refusal);
  };

  // What is an API server's: accept (400), authenticate (401, `options.authenticators`), decide, deliver.
  const toApiServer: Handler<HandlerEnvironment> = (context) => {
    const request = inbound(context);
    if (request.respond === undefined) return handleRequest(request, router, logger, serve, responseOf);
    void handleRequest(request, router, logger, serve, (outcome) => {
      if (outcome.kind === 'response') request.respond?.(outcome.response);
    });
    return sentElsewhere;
  };

  // What the router serves itself: health for everyone; /.mixed-version-proxy/ for allowed callers, whom it
  // authenticates first.
  const own = whenAsked(async () => {
    const { createOwnApp } = await import('./own-app.ts');
    return createOwnApp(settings, router, toApiServer);
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

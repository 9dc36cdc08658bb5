import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { internalError } from './apimachinery/status.ts';
import type { AppOptions, OwnAppParts } from './own-app.ts';
import type { AdmittedRequest } from './proxy/admitted-request.ts';
import { HttpRouter, handleRequest } from './proxy/handle-request.ts';
import { type RouterParts, resolveOptions } from './proxy/options.ts';
import { type HandlerEnvironment, type InboundRequest, webInbound } from './request/inbound.ts';
import { ownPathsPrefix } from './request/own-path-target.ts';
import { type Outcome, responseOf } from './request/transport.ts';

/** Parts that a process shares with its app beyond the options of a library. */
export interface AppParts extends RouterParts, OwnAppParts {
  /** For a runtime that carries upgrades past the fetch handler: the same router. Default: one of its own. */
  readonly router?: HttpRouter;
  /** The request as the app is to see it. Default: as Hono has it. */
  readonly requestOf?: (context: Context<HandlerEnvironment>) => Request;
}

/** The router's own health, which everyone may read, and what only allowed callers may. */
const ownPath = new RegExp(`^(?:/(?:livez|readyz|healthz)|/\\${ownPathsPrefix.slice(1)})(?=[/?]|$)`);

/** The whole router as one portable fetch handler. Every request meets one handler, which Hono calls without composing a chain. */
export function createApp(options: AppOptions & AppParts): Hono<HandlerEnvironment> {
  const settings = resolveOptions(options);
  const { router = new HttpRouter(settings), inbound: getInbound = webInbound, logger } = settings;
  const { requestOf = ({ req }) => req.raw } = options;
  const serve = (request: AdmittedRequest): Promise<Outcome> => router.serve(request);
  let ownApp: Hono<HandlerEnvironment> | undefined;

  // Requests to API servers go through `handleRequest`: accept (400), identify (401), decide by one view, gate (429), a
  // loop of tries (503).
  const toApiServer = (inbound: InboundRequest): Promise<Response> =>
    handleRequest(inbound, router, serve, logger).then(responseOf);

  /** In a module of its own: a Worker loads it with the first request for an own path (decisions/0008). */
  async function toOwnApp(request: Request, env: object | undefined): Promise<Response> {
    if (ownApp === undefined) {
      const { createOwnApp } = await import('./own-app.ts');
      // Only what is finished is kept, and the first of it: on a Worker a promise belongs to the request that made it.
      ownApp ??= createOwnApp(settings, router, toApiServer);
    }
    return ownApp.fetch(request, env);
  }

  // One handler takes every path: none has to be cut out of the URL.
  const app = new Hono<HandlerEnvironment>({ getPath: () => '/' });
  app.all('*', (context) => {
    const request = requestOf(context);
    const inbound = getInbound(request, context.env);
    return ownPath.test(inbound.target) ? toOwnApp(request, context.env) : toApiServer(inbound);
  });
  app.onError((error) => internalError(error, logger));
  return app;
}

import { Hono } from 'hono/tiny';
import { internalError } from './apimachinery/status.ts';
import type { OwnAppOptions } from './own-app.ts';
import { resolveOptions } from './proxy/options.ts';
import { createCarrier, createRouter, handleRequest } from './proxy/router.ts';
import type { InboundRequest } from './request/inbound.ts';
import { ownPathsPrefix } from './request/own-path-target.ts';
import { type HandlerEnvironment, type Router, webInbound } from './request/router.ts';
import { type Outcome, responseOf, sentElsewhere } from './request/transport.ts';

export interface AppOptions extends OwnAppOptions {
  /** For a runtime that carries upgrades past the fetch handler: the same router. Default: one of its own. */
  readonly router?: Router;
}

function respondLater(outcome: Outcome, inbound: InboundRequest): void {
  if (outcome.kind === 'response') inbound.respond?.(outcome.response);
}

/** The router's own health, which everyone may read, and what only allowed callers may. */
const ownPath = new RegExp(`^(?:/(?:livez|readyz|healthz)|/\\${ownPathsPrefix.slice(1)})(?=[/?]|$)`);

/**
 * The whole router as one portable fetch handler. Every request meets one handler, which Hono calls without composing a chain.
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
  const { router = createRouter(settings), inbound: getInbound = webInbound, logger } = settings;
  const { carry } = createCarrier(settings, router);
  let ownApp: Hono<HandlerEnvironment> | undefined;

  // What is an API server's: accept (400), authenticate (401, `options.authenticators`), decide, deliver.
  const toApiServer = (inbound: InboundRequest): Response | Promise<Response> => {
    if (inbound.respond === undefined) return handleRequest(inbound, router, logger, carry, responseOf);
    void handleRequest(inbound, router, logger, carry, respondLater);
    return sentElsewhere;
  };

  /** In a module of its own: a Worker loads it with the first request for an own path (docs/decisions/0008). */
  async function toOwnApp(request: Request, env: object | undefined): Promise<Response> {
    if (ownApp === undefined) {
      const { createOwnApp } = await import('./own-app.ts');
      // Only what is finished is kept, and the first of it: on a Worker a promise belongs to the request that made it.
      ownApp ??= createOwnApp(settings, router, toApiServer);
    }
    return ownApp.fetch(request, env);
  }

  const app = new Hono<HandlerEnvironment>();
  app.all('*', ({ req, env }) => {
    const inbound = getInbound(req.raw, env);
    return ownPath.test(inbound.target) ? toOwnApp(req.raw, env) : toApiServer(inbound);
  });
  app.onError((error) => internalError(error, logger));
  return app;
}

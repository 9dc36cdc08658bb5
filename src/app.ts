import type { Context } from 'hono';
import { Hono } from 'hono/tiny';
import { internalError } from './apimachinery/status.ts';
import type { AppOptions, OwnAppParts } from './own-app.ts';
import { type RouterParts, resolveOptions } from './proxy/options.ts';
import { createCarrier, createRouter, handleRequest } from './proxy/handle-request.ts';
import type { InboundRequest } from './request/inbound.ts';
import { ownPathsPrefix } from './request/own-path-target.ts';
import { type HandlerEnvironment, type Router, webInbound } from './proxy/admitted-request.ts';
import { type Outcome, responseOf, sentElsewhere } from './request/transport.ts';

/** Parts that a process shares with its app beyond the options of a library. */
export interface AppParts extends RouterParts, OwnAppParts {
  /** For a runtime that carries upgrades past the fetch handler: the same router. Default: one of its own. */
  readonly router?: Router;
  /** The request as the app is to see it. Default: as Hono has it. */
  readonly requestOf?: (context: Context<HandlerEnvironment>) => Request;
}

function respondLater(outcome: Outcome, inbound: InboundRequest): void {
  if (outcome.kind === 'response') inbound.respond?.(outcome.response);
}

/** The router's own health, which everyone may read, and what only allowed callers may. */
const ownPath = new RegExp(`^(?:/(?:livez|readyz|healthz)|/\\${ownPathsPrefix.slice(1)})(?=[/?]|$)`);

/** The whole router as one portable fetch handler. Every request meets one handler, which Hono calls without composing a chain. */
export function createApp(options: AppOptions & AppParts): Hono<HandlerEnvironment> {
  const settings = resolveOptions(options);
  const { router = createRouter(settings), inbound: getInbound = webInbound, logger } = settings;
  const { requestOf = ({ req }) => req.raw } = options;
  const { carry } = createCarrier(settings, router);
  let ownApp: Hono<HandlerEnvironment> | undefined;

  // What is an API server's: accept (400), authenticate (401, `options.authenticators`), decide, deliver.
  const toApiServer = (inbound: InboundRequest): Response | Promise<Response> => {
    if (inbound.respond === undefined) return handleRequest(inbound, router, logger, carry, responseOf);
    const answered = handleRequest(inbound, router, logger, carry, respondLater);
    // One client whose connection takes no response at all must not end the process.
    if (answered instanceof Promise) {
      answered.catch((error: unknown) =>
        logger.error({ err: error }, 'A response could not be given to its client'),
      );
    }
    return sentElsewhere;
  };

  /** In a module of its own: a Worker loads it with the first request for an own path (decisions/0008). */
  async function toOwnApp(request: Request, env: object | undefined): Promise<Response> {
    if (ownApp === undefined) {
      const { createOwnApp } = await import('./own-app.ts');
      // Only what is finished is kept, and the first of it: on a Worker a promise belongs to the request that made it.
      ownApp ??= createOwnApp(settings, router, toApiServer);
    }
    return ownApp.fetch(request, env);
  }

  const app = new Hono<HandlerEnvironment>();
  app.all('*', (context) => {
    const request = requestOf(context);
    const inbound = getInbound(request, context.env);
    return ownPath.test(inbound.target) ? toOwnApp(request, context.env) : toApiServer(inbound);
  });
  app.onError((error) => internalError(error, logger));
  return app;
}

import type { OwnAppOptions } from './own-app.ts';
import { resolveOptions } from './proxy/options.ts';
import { createCarrier, createRouter, handleRequest } from './proxy/router.ts';
import type { InboundRequest } from './request/inbound.ts';
import { ownPathsPrefix, refuseDisguisedOwnPath } from './request/own-path-target.ts';
import { type AdmittedRequest, type Router, webInbound } from './request/router.ts';
import { type Outcome, ownResponse, responseOf, sentElsewhere } from './request/transport.ts';

export interface AppOptions extends OwnAppOptions {
  /** For a runtime that carries upgrades past the fetch handler: the same router. Default: one of its own. */
  readonly router?: Router;
}

/** @param env the runtime's own: the core never looks into it, but hands it to `inbound` */
export type FetchHandler = (request: Request, env?: object) => Response | Promise<Response>;

/** The router's own health, which everyone may read, and what only allowed callers may. */
const ownPath = new RegExp(`^(?:/(?:livez|readyz|healthz)|/\\${ownPathsPrefix.slice(1)})(?=[/?]|$)`);

/** The whole router as one portable fetch handler, on any runtime. May reject where a part of it cannot be loaded. */
export function createFetchHandler(options: AppOptions): FetchHandler {
  const settings = resolveOptions(options);
  const { router = createRouter(settings), inbound: getInbound = webInbound, logger } = settings;
  const { carry } = createCarrier(settings, router);
  let ownApp: { readonly fetch: FetchHandler } | undefined;

  const serve = (request: AdmittedRequest): Outcome | Promise<Outcome> => {
    const refusal = refuseDisguisedOwnPath(request);
    return refusal === undefined ? carry(request) : ownResponse(refusal);
  };

  // What is an API server's: accept (400), authenticate (401, `options.authenticators`), decide, deliver.
  const toApiServer = (inbound: InboundRequest): Response | Promise<Response> => {
    if (inbound.respond === undefined) return handleRequest(inbound, router, logger, serve, responseOf);
    void handleRequest(inbound, router, logger, serve, (outcome) => {
      if (outcome.kind === 'response') inbound.respond?.(outcome.response);
    });
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

  return (request, env) => {
    const inbound = getInbound(request, env);
    return ownPath.test(inbound.target) ? toOwnApp(request, env) : toApiServer(inbound);
  };
}

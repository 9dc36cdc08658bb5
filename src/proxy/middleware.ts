import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { belowBasePath } from '../request/base-path.ts';
import { type GetInboundRequest, type HandlerEnvironment, webInbound } from '../request/inbound.ts';
import { type Outcome, ownResponse, responseOf } from '../request/transport.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { HttpRouter, handleRequest } from './handle-request.ts';
import { checkOptions, type MixedVersionProxyOptions, resolveOptions } from './options.ts';

export interface MiddlewareOptions extends MixedVersionProxyOptions {
  /** Default: what `Request` holds. */
  readonly inbound?: GetInboundRequest;
}

/**
 * The routing filter for an API server written with Hono: requests for what only a peer serves go to that
 * peer, everything else goes on to `next()`, the local handler chain.
 *
 * `next()` gets the request as the client sent it, X-Remote headers included. A handler reads the caller from
 * `context.var.caller`, which the router has authenticated, and never from a header, which anyone can write.
 *
 * @example
 * ```ts
 * const app = new Hono();
 * app.use(mixedVersionProxy({ local, routingTable: receiver, transport }));
 * app.get('/apis/batch/v1/jobs', (context) => context.text('served here'));
 *
 * const response = await app.fetch(new Request('https://router.example/apis/batch/v1/jobs'));
 * console.log(await response.text()); // served here
 * ```
 */
export function mixedVersionProxy(options: MiddlewareOptions): MiddlewareHandler<HandlerEnvironment> {
  checkOptions(options);
  const settings = resolveOptions(options);
  if (settings.local === undefined) {
    throw new TypeError('mixed-version-proxy: local is required: your own server, its id as in the snapshot');
  }
  const router = new HttpRouter(settings);
  const { inbound: getInbound = webInbound, logger } = settings;
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const serve = async (admitted: AdmittedRequest): Promise<Outcome> => {
      const request = await router.settled(admitted);
      const { inbound, requestInfo, caller, decision } = request;
      if (decision.decision !== 'local') return router.serve(request);
      context.set('inbound', inbound);
      context.set('requestInfo', requestInfo);
      context.set('caller', caller);
      await next();
      const response = await router.inPlaceOf(context.res, request);
      if (response !== undefined) {
        // Hono would keep the header lines of the replaced response otherwise: its length, its coding, its ETag.
        context.res = undefined;
        context.res = response;
      }
      return ownResponse(context.res);
    };
    const inbound = getInbound(belowBasePath(context), context.env);
    return responseOf(await handleRequest(inbound, router, serve, logger));
  });
}

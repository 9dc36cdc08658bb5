import type { MiddlewareHandler } from 'hono';
import { every } from 'hono/combine';
import { createMiddleware } from 'hono/factory';
import { namedAnswer } from './audit-id.ts';
import { createRouter } from './create-router.ts';
import { forward } from './forward.ts';
import type { GetInboundRequest, HandlerEnvironment } from './handler-environment.ts';
import { inboundFromRequest } from './inbound.ts';
import type { MixedVersionProxyOptions } from './options.ts';
import type { AdmittedRequest, Router } from './router.ts';
import { standInFor } from './stand-in.ts';

/** What the runtime's adapter knows better than the web standard, where there is one. */
export interface MiddlewareOptions extends MixedVersionProxyOptions {
  /** Default: what `Request` still has. */
  readonly inbound?: GetInboundRequest;
}

/**
 * The routing filter for an API server written with Hono: requests for what only a peer serves go to that
 * peer, everything else goes on to `next()`, the local handler chain.
 *
 * What goes on is the request as the client sent it, X-Remote headers included: a handler asks
 * `context.var.caller`, which was established, and never a header, which anyone can write.
 *
 * @example
 * app.use(mixedVersionProxy({ serverId, local, routingTable: receiver, transport, authenticators }));
 */
export function mixedVersionProxy(options: MiddlewareOptions): MiddlewareHandler<HandlerEnvironment> {
  const router = createRouter(options);
  return every(acceptRequest(router, options.inbound), identifyCaller(router), routeRequest(router, options));
}

/** Takes the request as it stood on the wire and refuses paths that two parsers could read differently. */
export function acceptRequest(
  router: Router,
  getInbound: GetInboundRequest = (context) => inboundFromRequest(context.req.raw),
): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const inbound = getInbound(context);
    const requestInfo = router.accept(inbound);
    const { observed } = inbound;
    if (requestInfo instanceof Response) {
      observed?.answered(requestInfo.status);
      return namedAnswer(requestInfo, inbound);
    }
    context.set('inbound', inbound);
    context.set('requestInfo', requestInfo);
    await next();
    // Of what was not passed on from a destination, this is the whole answer, refusals and faults included.
    if (inbound.isPassedOn !== true) namedAnswer(context.res, inbound);
    observed?.answered(context.res.status);
    return undefined;
  });
}

/** Establishes who calls, once. */
export function identifyCaller(router: Router): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const caller = await router.identify(context.var.inbound);
    if (caller instanceof Response) return caller;
    context.set('caller', caller);
    return next();
  });
}

/** Decides. What is not the local server's leaves here; what is goes on to `next()`. */
export function routeRequest(
  router: Router,
  options: Pick<
    MixedVersionProxyOptions,
    'serverId' | 'transport' | 'routingTable' | 'openApiV2' | 'openApiV3' | 'stalePolicy' | 'clock'
  >,
): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const { inbound, requestInfo, caller } = context.var;
    const decision = router.decide(inbound, requestInfo, caller);
    const request: AdmittedRequest = { inbound, requestInfo, caller, decision };
    const prepareStandIn = () => standInFor(request, options.routingTable.current(), options);
    if (decision.decision !== 'local') {
      // Where no server is local, or it is down, any other says whether the caller may read a merged document.
      const standIn = decision.reason === 'MergedDocument' ? await prepareStandIn() : undefined;
      return forward(request, router, options.transport, standIn);
    }
    context.set('admitted', request);
    context.set('standIn', await prepareStandIn());
    await next();
    // Still there: the local handler chain answered itself instead of `localServer` below.
    const response = context.var.standIn?.(context.res.status);
    if (response !== undefined) {
      // Else Hono keeps the header lines of the answer that is replaced: its length, its coding, its ETag.
      context.res = undefined;
      context.res = response;
    }
    return undefined;
  });
}

/** The end of the router's chain: the local API server, over the transport. */
export function localServer(
  router: Router,
  options: Pick<MixedVersionProxyOptions, 'transport'>,
): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context) => {
    const { admitted, standIn } = context.var;
    context.set('standIn', undefined);
    return forward(admitted, router, options.transport, standIn);
  });
}

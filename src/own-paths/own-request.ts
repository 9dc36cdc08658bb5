import type { MiddlewareHandler } from 'hono';
import { createMiddleware } from 'hono/factory';
import { withAuditId } from '../request/audit-id.ts';
import type { GetInboundRequest, HandlerEnvironment, Router } from '../request/router.ts';
import { refuseDisguisedOwnPath } from './refuse-own-path.ts';

/**
 * Stands before each handler of the router's own: the request as it was received, its path accepted (400) and
 * spelled in one way only, and its response named and observed.
 */
export function acceptOwnRequest(
  router: Pick<Router, 'accept'>,
  getInbound: GetInboundRequest,
): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const inbound = getInbound(context);
    const requestInfo = router.accept(inbound);
    const refusal =
      requestInfo instanceof Response ? requestInfo : refuseDisguisedOwnPath({ inbound, requestInfo });
    if (refusal === undefined && !(requestInfo instanceof Response)) {
      context.set('inbound', inbound);
      context.set('requestInfo', requestInfo);
      await next();
    }
    const response = refusal ?? context.res;
    withAuditId(response, inbound);
    inbound.observed?.responded(response.status);
    return response;
  });
}

/** Establishes who calls, once (401). */
export function identifyCaller(router: Pick<Router, 'identify'>): MiddlewareHandler<HandlerEnvironment> {
  return createMiddleware<HandlerEnvironment>(async (context, next) => {
    const caller = await router.identify(context.var.inbound);
    if (caller instanceof Response) return caller;
    context.set('caller', caller);
    return next();
  });
}

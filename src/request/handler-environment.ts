import type { Context } from 'hono';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { type InboundRequest, inboundFromRequest } from './inbound.ts';
import type { Caller } from './user-info.ts';

/** Variables of a request that handlers can read; each is set once. */
export interface HandlerVariables {
  inbound: InboundRequest;
  requestInfo: RequestInfo;
  caller: Caller;
}

/** `Bindings` are the runtime's own: sockets on Node, KV and keys on Workers. The core never looks into them. */
export interface HandlerEnvironment {
  Variables: HandlerVariables;
  Bindings: object;
}

export type HandlerContext = Context<HandlerEnvironment>;

/** Gives the request as it was received: the runtime's adapter, as `GetConnInfo` is in Hono. */
export type GetInboundRequest = (context: HandlerContext) => InboundRequest;

/** What the web's `Request` holds of a request, for runtimes whose adapter provides no more. */
export const webInbound: GetInboundRequest = (context) => inboundFromRequest(context.req.raw);

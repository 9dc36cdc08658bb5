import type { Context } from 'hono';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Caller } from '../identity/user-info.ts';
import type { InboundRequest } from './inbound.ts';
import type { AdmittedRequest } from './router.ts';

/** What the handlers of the chain hand on to each other, each set once by the one that establishes it. */
export interface HandlerVariables {
  /** Set by `acceptRequest`. */
  inbound: InboundRequest;
  /** Set by `acceptRequest`. */
  requestInfo: RequestInfo;
  /** Set by `identifyCaller`. */
  caller: Caller;
  /** Set by `routeRequest` for what goes to the local server, taken by whoever asks that server. */
  admitted: AdmittedRequest;
  /** Set by `routeRequest`; an answer of ours that stands in for some answers of the local server. */
  standIn: StandIn | undefined;
}

/** Given the code of the local server's answer: what to answer instead, or `undefined` to pass it on. */
export type StandIn = (status: number) => Response | undefined;

/** `Bindings` are the runtime's own: sockets on Node, KV and keys on Workers. The core never looks into them. */
export interface HandlerEnvironment {
  Variables: HandlerVariables;
  Bindings: object;
}

export type HandlerContext = Context<HandlerEnvironment>;

/** Gives the request as it stood on the wire: the runtime's adapter, as `GetConnInfo` is in Hono. */
export type GetInboundRequest = (context: HandlerContext) => InboundRequest;

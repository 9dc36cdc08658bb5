import type { Context } from 'hono';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Decision } from '../routing/decision.ts';
import { type InboundRequest, inboundFromRequest } from './inbound.ts';
import type { OutboundRequest } from './transport.ts';
import type { Caller } from './user-info.ts';

/** An admitted request: its path is unambiguous, its caller is known, its destination is decided. */
export interface AdmittedRequest {
  readonly inbound: InboundRequest;
  readonly requestInfo: RequestInfo;
  readonly caller: Caller;
  readonly decision: Decision;
}

export type Admission =
  | { readonly kind: 'admitted'; readonly request: AdmittedRequest }
  /** Refused before forwarding (400, 401, 500, 503): this is the whole response. */
  | { readonly kind: 'refused'; readonly response: Response };

/**
 * The steps of one request, shared by the fetch handler and by upgrades: both start with `admit` and end
 * with `deliver`, so neither can skip path acceptance, authentication, header hygiene or stamping.
 */
export interface Router {
  /** Path acceptance and request info; the refusal (400, 500) when the target cannot be accepted. */
  accept(inbound: InboundRequest): RequestInfo | Response;
  /** Who calls; the refusal (401) when the credentials are wrong. A promise only where the check is asynchronous. */
  identify(inbound: InboundRequest): Caller | Response | Promise<Caller | Response>;
  decide(inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): Decision;
  /** The three above, in order; a promise only where `identify` gives one. */
  admit(inbound: InboundRequest): Admission | Promise<Admission>;
  /**
   * Chooses a destination, builds the outbound request and sends it; where the rules allow it, tries one
   * other candidate. Resolves with the result of `send`, or with a 503 Status when no destination responded.
   * `send` throws `TransportError`.
   */
  deliver<Result>(
    request: AdmittedRequest,
    send: (outbound: OutboundRequest) => Promise<Result>,
  ): Promise<Result | Response>;
}

/** Variables of a request that handlers can read; each is set once. */
interface HandlerVariables {
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

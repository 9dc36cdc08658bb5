import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Decision } from '../routing/decision.ts';
import { type InboundRequest, inboundFromRequest } from './inbound.ts';
import type { OutboundRequest, Outcome, ResponseToSend, SendResult } from './transport.ts';
import type { Caller } from './user-info.ts';

export interface AdmittedRequest {
  readonly inbound: InboundRequest;
  readonly requestInfo: RequestInfo;
  readonly caller: Caller;
  readonly decision: Decision;
}

/**
 * The steps of one request, in their order (proxy/handle-request.ts): fetch handlers and upgrades cannot skip path acceptance,
 * authentication, hygiene or stamping.
 */
export interface Router {
  /** Path acceptance and request info; the refusal when the target cannot be accepted (400, 500), or has come back (503). */
  accept(inbound: InboundRequest): RequestInfo | ResponseToSend;
  /** Who calls; the refusal (401) when the credentials are wrong. A promise only where the check is asynchronous. */
  identify(inbound: InboundRequest): Caller | ResponseToSend | Promise<Caller | ResponseToSend>;
  decide(inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): Decision;
  /**
   * Chooses a destination, builds the outbound request and sends it; where `othersToAsk` says so, asks
   * others. Resolves with the result of `send`, or with a 503 Status when no destination responded.
   */
  deliver(request: AdmittedRequest, send: Send): Promise<Outcome>;
  /**
   * The same at once, for questions of the router itself: no limit of requests in flight turns them away, and they wait for no
   * change of versions.
   */
  deliverNow(request: AdmittedRequest, send: Send): Promise<Outcome>;
}

/** Sends a request to one destination. @throws {TransportError} (rejects) when it did not respond. */
export type Send = (outbound: OutboundRequest) => Promise<SendResult>;

export interface HandlerEnvironment {
  Variables: { inbound: InboundRequest; requestInfo: RequestInfo; caller: Caller };
  Bindings: object;
}

/**
 * Gives the request as it was received: the runtime's adapter, as `GetConnInfo` is in Hono.
 * @param env the runtime's own, which came with the request
 */
export type GetInboundRequest = (request: Request, env: object | undefined) => InboundRequest;

/** What the web's `Request` holds of a request, for runtimes whose adapter provides no more. */
export const webInbound: GetInboundRequest = (request) => inboundFromRequest(request);

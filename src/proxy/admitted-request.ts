import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Destination } from '../request/destination.ts';
import type { InboundRequest } from '../request/inbound.ts';
import type { OutboundRequest, Outcome, ResponseToSend, SendResult } from '../request/transport.ts';
import type { Caller } from '../request/user-info.ts';
import type { Decision } from '../routing/decision.ts';
import type { ServersView } from '../servers/servers-view.ts';

/** The API servers as one request sees them: taken once a request, and anew after the request has waited. */
export interface View extends ServersView {
  /** The local server, under the ID that the snapshot has for it; `undefined` in the gateway form. */
  readonly local: Destination | undefined;
}

/** A request whose path is accepted and whose caller is established, with where it goes and what that was decided by. */
export interface AdmittedRequest {
  readonly inbound: InboundRequest;
  readonly requestInfo: RequestInfo;
  readonly caller: Caller;
  readonly view: View;
  readonly decision: Decision;
}

/**
 * Sends a request to one destination.
 * @throws {TransportError} (rejects) when the destination did not respond
 */
export type Send = (outbound: OutboundRequest, request: AdmittedRequest) => Promise<SendResult>;

/**
 * The steps of one request, in their order (proxy/handle-request.ts): fetch handlers and upgrades cannot skip path acceptance,
 * authentication, hygiene or stamping.
 */
export interface Router {
  /** @returns what the request asks for; the refusal of a target that cannot be accepted (400, 500) or has come back (503) */
  accept(inbound: InboundRequest): RequestInfo | ResponseToSend;
  /** @returns who calls; the refusal (401) of wrong credentials. A promise only where the check is asynchronous */
  identify(inbound: InboundRequest): Caller | ResponseToSend | Promise<Caller | ResponseToSend>;
  /** Takes the view of the request, and decides by it. */
  decide(inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): AdmittedRequest;
  /** Gate (429), then a loop of tries. @returns what `send` gave; a 503 Status when no server responded */
  deliver(request: AdmittedRequest, send: Send): Promise<Outcome>;
  /**
   * The tries alone, at once, for questions of the router itself: no limit of requests in flight turns them away, and they wait for
   * no change of versions.
   */
  deliverNow(question: Omit<AdmittedRequest, 'view'>, send: Send): Promise<Outcome>;
}

import type { Context } from 'hono';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { internalError } from '../apimachinery/status.ts';
import type { Decision } from '../routing/decision.ts';
import type { Logger } from '../runtime/logger.ts';
import { auditIdOf, withAuditId } from './headers.ts';
import { type InboundRequest, inboundFromRequest } from './inbound.ts';
import {
  type OutboundRequest,
  type Outcome,
  ownResponse,
  type ResponseToSend,
  type SendResult,
} from './transport.ts';
import type { Caller } from './user-info.ts';

/** An admitted request: its path is unambiguous, its caller is known, its destination is decided. */
export interface AdmittedRequest {
  readonly inbound: InboundRequest;
  readonly requestInfo: RequestInfo;
  readonly caller: Caller;
  readonly decision: Decision;
}

/**
 * The steps of one request, in their order. `handleRequest` calls the first three for fetch handlers and upgrades alike;
 * both end with `deliver`. So neither can skip path acceptance, authentication, header hygiene or stamping.
 */
export interface Router {
  /** Path acceptance and request info; the refusal (400, 500) when the target cannot be accepted. */
  accept(inbound: InboundRequest): RequestInfo | ResponseToSend;
  /** Who calls; the refusal (401) when the credentials are wrong. A promise only where the check is asynchronous. */
  identify(inbound: InboundRequest): Caller | ResponseToSend | Promise<Caller | ResponseToSend>;
  /** Where the request goes, and why. */
  decide(inbound: InboundRequest, requestInfo: RequestInfo, caller: Caller): Decision;
  /**
   * Chooses a destination, builds the outbound request and sends it; where the rules allow it, tries one
   * other candidate. Resolves with the result of `send`, or with a 503 Status when no destination responded.
   */
  deliver(request: AdmittedRequest, send: Send): Promise<Outcome>;
}

/** Sends a request to one destination. @throws {TransportError} (rejects) when it did not respond. */
export type Send = (outbound: OutboundRequest) => Promise<SendResult>;

/** Variables of a request that handlers can read; each is set once. */
interface HandlerVariables {
  inbound: InboundRequest;
  requestInfo: RequestInfo;
  caller: Caller;
}

/** `Bindings` are the runtime's own: sockets on Node, keys on Workers. The core never looks into them. */
export interface HandlerEnvironment {
  Variables: HandlerVariables;
  Bindings: object;
}

export type HandlerContext = Context<HandlerEnvironment>;

/** Gives the request as it was received: the runtime's adapter, as `GetConnInfo` is in Hono. */
export type GetInboundRequest = (context: HandlerContext) => InboundRequest;

/** What the web's `Request` holds of a request, for runtimes whose adapter provides no more. */
export const webInbound: GetInboundRequest = (context) => inboundFromRequest(context.req.raw);

/** Serves an admitted request: forwards it, tunnels it, or passes it to the handlers of a library's own app. */
type Carry = (request: AdmittedRequest) => Outcome | Promise<Outcome>;

/**
 * The steps of every request, for fetch handlers and upgrades alike: accept, identify, decide, carry; then the response
 * is given its audit ID and recorded. Never rejects: a failure becomes a 500 Status.
 *
 * No `async`, and a single `then`: each further promise would cost every request.
 */
export function handleRequest(
  inbound: InboundRequest,
  router: Pick<Router, 'accept' | 'identify' | 'decide'>,
  logger: Logger,
  carry: Carry,
): Promise<Outcome> {
  const finish = (outcome: Outcome): Outcome => {
    if (outcome.kind === 'sent') inbound.record?.responded(outcome.status);
    else {
      if (!outcome.isPassedOn) withAuditId(outcome.response, inbound);
      inbound.record?.responded(outcome.response.status);
    }
    return outcome;
  };
  let carried: Promise<Outcome>;
  try {
    const outcome = acceptedAndCarried(inbound, router, carry);
    carried = outcome instanceof Promise ? outcome : Promise.resolve(outcome);
  } catch (error) {
    carried = Promise.reject(error);
  }
  return carried.then(finish, (error: unknown) =>
    finish(ownResponse(internalError(error, logger, auditIdOf(inbound)))),
  );
}

/** A promise only where the caller has to be waited for, or `carry` gives one. */
function acceptedAndCarried(
  inbound: InboundRequest,
  router: Pick<Router, 'accept' | 'identify' | 'decide'>,
  carry: Carry,
): Outcome | Promise<Outcome> {
  const requestInfo = router.accept(inbound);
  if ('response' in requestInfo) return requestInfo;
  const decideAndCarry = (caller: Caller | ResponseToSend) => {
    if (caller.kind === 'response') return caller;
    const decision = router.decide(inbound, requestInfo, caller);
    return carry({ inbound, requestInfo, caller, decision });
  };
  const caller = router.identify(inbound);
  return caller instanceof Promise ? caller.then(decideAndCarry) : decideAndCarry(caller);
}

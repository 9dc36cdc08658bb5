import { statusResponse } from '../apimachinery/status.ts';
import type { Logger } from '../runtime/logger.ts';
import { auditIdOf, withAuditId } from './audit-id.ts';
import type { InboundRequest } from './inbound.ts';
import { type Outcome, ownResponse, type ResponseToSend } from './outcome.ts';
import type { AdmittedRequest, Router } from './router.ts';
import type { Caller } from './user-info.ts';

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
  return carried.then(finish, (error: unknown) => finish(ownResponse(internalError(error, logger, inbound))));
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

/**
 * An internal error of the router: logged for its operator, not shown to the client.
 * @param inbound left out where it came before the request was read.
 */
export function internalError(error: unknown, logger: Logger, inbound?: InboundRequest): Response {
  const auditId = inbound === undefined ? undefined : auditIdOf(inbound);
  logger.error({ err: error, 'audit-ID': auditId }, 'A request ended in an internal error');
  return statusResponse('InternalError', 'Internal error occurred: the router could not handle the request');
}

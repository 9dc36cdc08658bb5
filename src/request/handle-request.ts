import { statusResponse } from '../apimachinery/status.ts';
import type { Logger } from '../runtime/logger.ts';
import { auditIdOf, withAuditId } from './audit-id.ts';
import type { InboundRequest } from './inbound.ts';
import type { Admission, AdmittedRequest, Router } from './router.ts';

/**
 * Serves an admitted request: forwards it, tunnels it, or passes it to the handlers of a library's own app.
 * `Outcome` is a result other than a `Response`: an upgrade that the server has accepted.
 */
export type Carry<Outcome> = (request: AdmittedRequest) => Response | Outcome | Promise<Response | Outcome>;

/**
 * The steps of every request in order, for fetch handlers and upgrades alike: accept, identify and decide
 * (`Router.admit`), serve, then add the audit ID and observe the response. Never rejects: a failure becomes a 500 Status.
 *
 * No `async`, and a single `then`: each further promise would cost every request.
 */
export function handleRequest<Outcome = never>(
  inbound: InboundRequest,
  router: Pick<Router, 'admit'>,
  logger: Logger,
  carry: Carry<Outcome>,
): Promise<Response | Outcome> {
  const proceed = (admission: Admission): Response | Outcome | Promise<Response | Outcome> =>
    admission.kind === 'refused' ? admission.response : carry(admission.request);
  const finish = (response: Response | Outcome): Response | Outcome => {
    if (!(response instanceof Response)) return response;
    // A response of a destination has the audit ID that it had there.
    if (inbound.isPassedOn !== true) withAuditId(response, inbound);
    inbound.observed?.responded(response.status);
    return response;
  };
  return carried(inbound, router, proceed).then(finish, (error: unknown) =>
    finish(internalError(error, logger, inbound)),
  );
}

function carried<Outcome>(
  inbound: InboundRequest,
  router: Pick<Router, 'admit'>,
  proceed: (admission: Admission) => Response | Outcome | Promise<Response | Outcome>,
): Promise<Response | Outcome> {
  try {
    const admission = router.admit(inbound);
    if (admission instanceof Promise) return admission.then(proceed);
    const outcome = proceed(admission);
    return outcome instanceof Promise ? outcome : Promise.resolve(outcome);
  } catch (error) {
    return Promise.reject(error);
  }
}

/**
 * An internal error of the router: logged for its operator, not shown to the client.
 * @param inbound left out where it came before the request was read.
 */
export function internalError(error: unknown, logger: Logger, inbound?: InboundRequest): Response {
  inbound?.observed?.panicked(error);
  const auditId = inbound === undefined ? undefined : auditIdOf(inbound);
  logger.error({ err: error, 'audit-ID': auditId }, 'A request ended in an internal error');
  return statusResponse('InternalError', 'Internal error occurred: the router could not handle the request');
}

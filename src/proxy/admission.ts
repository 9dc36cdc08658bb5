import type { RequestInfo } from '../apimachinery/request-info.ts';
import { RequestInfoError } from '../apimachinery/request-info-error.ts';
import { statusResponse } from '../apimachinery/status.ts';
import { isLongRunning } from '../apimachinery/subresources.ts';
import { AuthenticationError, askAuthenticators } from '../identity/authenticator.ts';
import { auditIdOf, hasPassedThrough } from '../request/headers.ts';
import { type InboundRequest, RequestRecord } from '../request/inbound.ts';
import { refuseOwnPath } from '../request/own-path-target.ts';
import { ownResponse, type ResponseToSend } from '../request/transport.ts';
import type { Caller } from '../request/user-info.ts';
import type { Logger } from '../runtime/logger.ts';
import type { RouterSettings } from './options.ts';

/** @returns what the request asks for; the refusal of a path that could be read in two ways (400), or of a loop (503) */
export function acceptRequest(
  inbound: InboundRequest,
  { observers, monotonicClock, pseudonym }: RouterSettings,
  readRequest: (method: string, target: string) => RequestInfo,
): RequestInfo | ResponseToSend {
  const record = new RequestRecord(inbound, observers, monotonicClock);
  inbound.record = record;
  if (hasPassedThrough(inbound.headers, pseudonym)) return ownResponse(loopDetected());
  try {
    const requestInfo = readRequest(inbound.method, inbound.target);
    record.accepted(requestInfo);
    const refusal = refuseOwnPath(inbound.target, requestInfo.path, inbound.isUpgrade);
    if (refusal !== undefined) return ownResponse(refusal);
    if (!isLongRunning(requestInfo)) inbound.limitDuration?.();
    return requestInfo;
  } catch (error) {
    if (error instanceof RequestInfoError) return ownResponse(refuseTarget(error));
    throw error;
  }
}

/** Without Retry-After: a repeated request would loop again. */
function loopDetected(): Response {
  return statusResponse(
    'ServiceUnavailable',
    'the request came back to a router that it had passed: routers send it to each other, or one of them has itself for its local server',
    { causes: [{ reason: 'LoopDetected', message: 'the Via header names this router' }] },
  );
}

function refuseTarget(error: RequestInfoError): Response {
  // Kubernetes responds to a path verb with nothing after it with 500 (pkg/endpoints/filters/requestinfo.go).
  return error.code === 'UnableToDetermineResource'
    ? statusResponse('InternalError', error.message)
    : statusResponse('BadRequest', error.message);
}

/** @returns who calls; the refusal of wrong credentials (401). A promise only where an authenticator has to wait */
export function identifyCaller(
  inbound: InboundRequest,
  { authenticators, logger }: RouterSettings,
): Caller | ResponseToSend | Promise<Caller | ResponseToSend> {
  try {
    const caller = askAuthenticators(inbound, authenticators);
    if (!(caller instanceof Promise)) return caller;
    return caller.catch((error: unknown) => refuseCaller(inbound, error, logger));
  } catch (error) {
    return refuseCaller(inbound, error, logger);
  }
}

/** @throws what is no refusal of credentials */
function refuseCaller(inbound: InboundRequest, error: unknown, logger: Logger): ResponseToSend {
  if (!(error instanceof AuthenticationError)) throw error;
  const { remoteAddress } = inbound.connection;
  logger.info({ error: error.message, remoteAddress, 'audit-ID': auditIdOf(inbound) }, 'Unauthorized');
  // The message names the class of error for the operator; kubectl shows it. It never holds what helps an attacker
  // (contents of credentials, keys, addresses).
  return ownResponse(statusResponse('Unauthorized', `Unauthorized: ${error.message}`));
}

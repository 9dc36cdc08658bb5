import { statusResponse } from '../../apimachinery/status.ts';
import type { ServerHealth } from '../../health/server-health.ts';
import { AssertionTooLargeError } from '../../identity/assertion/assertion-signer.ts';
import { auditIdOf } from '../../request/audit-id.ts';
import type { Destination } from '../../request/destination.ts';
import { ownResponse, type ResponseToSend, type SendResult } from '../../request/outcome.ts';
import type { AttemptFailure } from '../../request/request-record.ts';
import type { AdmittedRequest, Send } from '../../request/router.ts';
import { foundNoConnection, TransportError } from '../../request/transport-error.ts';
import { FailureLog, type Logger } from '../../runtime/logger.ts';
import type { NoResponse } from './other-servers.ts';
import { buildOutboundRequest, type OutboundHints, type OutboundOptions, passesThrough } from './outbound.ts';
import type { ServerLoad } from './server-choice.ts';

export interface AttemptOptions extends OutboundOptions {
  readonly load: ServerLoad;
  readonly health?: ServerHealth | undefined;
  readonly logger: Logger;
  /** Milliseconds of a clock that only rises. */
  readonly monotonicClock: () => number;
}

/**
 * Sends a request to one destination, and tells of it: the load, the health of servers, the record and the log.
 * @param hints as in `OutboundRequest`
 * @returns what `send` gave; a response of the router's own where the caller does not fit into the assertion
 */
type Attempt = (
  request: AdmittedRequest,
  destination: Destination,
  send: Send,
  hints?: OutboundHints,
) => Promise<SendResult | NoResponse>;

export function createAttempt(options: AttemptOptions): Attempt {
  const { load, health, logger, monotonicClock } = options;
  const failures = new FailureLog({ logger, clock: monotonicClock });

  // No `async` here and in what calls it first: each one more costs every request a promise and a turn of the queue.
  function attempt(
    request: AdmittedRequest,
    destination: Destination,
    send: Send,
    hints?: OutboundHints,
  ): Promise<SendResult | NoResponse> {
    const { inbound } = request;
    const end = load.begin(destination.id);
    inbound.record?.attemptBegun(destination);
    const responded = (result: SendResult): SendResult => {
      // The server that has refused has no part in what another one makes of it, which may take hours.
      if (inbound.onFinished === undefined || result.kind === 'refusal') end();
      else inbound.onFinished(end);
      load.reached(destination.id);
      health?.responded(destination.id);
      // It ends, or is down behind its router, and accepts connections all the while: nothing else makes it be looked at
      // before the next probe is due.
      if (result.kind === 'refusal' && result.reason === 'Unavailable') health?.notResponded(destination.id);
      return result;
    };
    const failed = (error: unknown): ResponseToSend | NoResponse => {
      end();
      return failedAttempt(request, destination, error);
    };
    return sendTo(request, destination, send, hints).then(responded, failed);
  }

  function sendTo(
    request: AdmittedRequest,
    destination: Destination,
    send: Send,
    hints?: OutboundHints,
  ): Promise<SendResult> {
    try {
      const built = buildOutboundRequest(request, destination, options, hints);
      return built instanceof Promise ? built.then(send) : send(built);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /** @throws an internal error of the router. */
  function failedAttempt(
    { inbound, requestInfo }: AdmittedRequest,
    destination: Destination,
    error: unknown,
  ): ResponseToSend | NoResponse {
    inbound.record?.attemptFailed(failureOf(error));
    if (error instanceof AssertionTooLargeError) {
      return ownResponse(statusResponse('RequestEntityTooLarge', error.message));
    }
    if (!(error instanceof TransportError)) throw error;
    const isClients = isClientsDoing(error);
    if (!isClients) {
      // One slow request says nothing of a server: only what never reached it does. Who is probed has better to say.
      if (!error.mayHaveBeenProcessed && health?.isProbed(destination.id) !== true) {
        load.notReached(destination.id);
      }
      // No connection counts against it; no response on one only makes it be looked at (`ServerHealth`).
      if (foundNoConnection(error)) health?.notConnected(destination.id);
      else if (!passesThrough(requestInfo)) health?.notResponded(destination.id);
    }
    const { code, message, mayHaveBeenProcessed } = error;
    // A client that leaves says nothing about the destination; in a reset flood thousands leave at once.
    const fields = {
      destination: destination.id,
      kind: destination.kind,
      code,
      mayHaveBeenProcessed,
      error: message,
      'audit-ID': auditIdOf(inbound),
    };
    const text = 'A destination did not respond';
    if (isClients) logger.debug(fields, text);
    else failures.warn(`${destination.kind} ${destination.id}: ${code}`, fields, text);
    return { kind: 'no response', error };
  }

  return attempt;
}

function failureOf(error: unknown): AttemptFailure {
  if (error instanceof TransportError) return error.code;
  return error instanceof AssertionTooLargeError ? 'AssertionTooLarge' : 'InternalError';
}

/** Not evidence against the destination: if it counted, any client could make the router avoid a server. */
function isClientsDoing({ code }: TransportError): boolean {
  return code === 'ClientGone' || code === 'RequestHeaderFieldsTooLarge';
}

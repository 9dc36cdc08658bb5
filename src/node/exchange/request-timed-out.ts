import type { IncomingMessage, ServerResponse } from 'node:http';
import { statusParts, statusResponse } from '../../apimachinery/status.ts';
import { retryAfterSeconds } from '../../proxy/delivery/undelivered.ts';
import { isRead } from '../../request/retry.ts';

/*
 * Ends an exchange that took too long, while a handler may still be working on it, as kube-apiserver's time-out filter
 * does (k8s.io/apiserver pkg/server/filters/timeout.go): 504 with its message before a head was sent; afterwards the
 * response breaks off, so that the client cannot take a part for the whole.
 *
 * A read gets 503 with Retry-After instead, as the Mixed Version Proxy does for a server that does not respond: it can be
 * repeated. A write may have been processed, and client-go would repeat it for a Retry-After.
 */

/** What the response depends on. */
export interface TimedOutRequest {
  readonly method: string;
  readonly hasBody: boolean;
}

/** kube-apiserver's message. */
const message = 'Timeout: request did not complete within the allotted timeout';
const noResponse = 'the API server that serves this resource did not respond within the allotted timeout';
const repeatable = {
  retryAfterSeconds,
  causes: [{ reason: 'Timeout', message: 'no response from the destination' }],
};

/**
 * @param more header lines of the response
 * @returns whether a response was sent
 */
export function endHttp1TimedOut(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  request: TimedOutRequest,
  more: Readonly<Record<string, string>> = {},
): boolean {
  if (outgoing.headersSent) {
    outgoing.destroy();
    return false;
  }
  const { code, headers, body } = timedOut(request);
  // The upload is not complete, so nothing after it on the connection can be read as a request.
  if (!incoming.complete) outgoing.shouldKeepAlive = false;
  outgoing.writeHead(code, { ...headers, ...more });
  outgoing.end(body);
  return true;
}

/** The response to a request that took too long. */
export function timedOutResponse(request: TimedOutRequest): Response {
  return canBeRepeated(request)
    ? statusResponse('ServiceUnavailable', noResponse, repeatable)
    : statusResponse('Timeout', message);
}

export function timedOutError(): Error {
  return new Error('the request took longer than the request time-out');
}

/** The same in its parts, to be written without a `Response`. */
export function timedOut(request: TimedOutRequest): ReturnType<typeof statusParts> {
  return canBeRepeated(request)
    ? statusParts('ServiceUnavailable', noResponse, repeatable)
    : statusParts('Timeout', message);
}

export function canBeRepeated({ method, hasBody }: TimedOutRequest): boolean {
  return isRead(method) && !hasBody;
}

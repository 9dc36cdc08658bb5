import type { IncomingMessage, ServerResponse } from 'node:http';
import { statusAnswer, statusResponse } from '../../apimachinery/status.ts';
import { retryAfterSeconds } from '../../proxy/delivery/undelivered.ts';
import { isRead } from '../../request/retry.ts';

/*
 * Ends an exchange that took too long, past whoever is still working on its answer, as kube-apiserver's time-out
 * filter does (k8s.io/apiserver pkg/server/filters/timeout.go): 504 with its words while the client has nothing,
 * else a break, so that it cannot take the part for the whole.
 *
 * A read is answered with 503 and Retry-After instead, as the Mixed Version Proxy has it for a server that does not
 * respond: it can be asked again. A write may have been carried out, and client-go would repeat it for a Retry-After.
 */

/** What the answer depends on. */
export interface TimedOutRequest {
  readonly method: string;
  readonly hasBody: boolean;
}

/** kube-apiserver's. */
const message = 'Timeout: request did not complete within the allotted timeout';
const noAnswer = 'the API server that serves this resource did not answer within the allotted timeout';
const repeatable = {
  retryAfterSeconds,
  causes: [{ reason: 'Timeout', message: 'no answer from the destination' }],
};

/**
 * @param more header lines of the answer.
 * @returns whether the client was given it.
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
  // An upload that never ends is what took so long: nothing behind it on the connection is a request.
  if (!incoming.complete) outgoing.shouldKeepAlive = false;
  outgoing.writeHead(code, { ...headers, ...more });
  outgoing.end(body);
  return true;
}

/** The answer to a request that took too long, for who writes it by hand. */
export function timedOutResponse(request: TimedOutRequest): Response {
  return canBeRepeated(request)
    ? statusResponse('ServiceUnavailable', noAnswer, repeatable)
    : statusResponse('Timeout', message);
}

/** Why such an exchange is broken off. */
export function timedOutError(): Error {
  return new Error('the request took longer than the request time-out');
}

/** The same in its parts, for who writes it without a `Response`. */
export function timedOut(request: TimedOutRequest): ReturnType<typeof statusAnswer> {
  return canBeRepeated(request)
    ? statusAnswer('ServiceUnavailable', noAnswer, repeatable)
    : statusAnswer('Timeout', message);
}

export function canBeRepeated({ method, hasBody }: TimedOutRequest): boolean {
  return isRead(method) && !hasBody;
}

import type { IncomingMessage, ServerResponse } from 'node:http';
import { statusAnswer, statusResponse } from '../apimachinery/status.ts';

/*
 * Ends an exchange that took too long, past whoever is still working on its answer, as kube-apiserver's time-out
 * filter does (k8s.io/apiserver pkg/server/filters/timeout.go): 504 with its words while the client has nothing,
 * else a break, so that it cannot take the part for the whole.
 */

/** kube-apiserver's. */
const message = 'Timeout: request did not complete within the allotted timeout';

/**
 * @param more header lines of the 504.
 * @returns whether the client was given the 504.
 */
export function endHttp1TimedOut(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  more: Readonly<Record<string, string>> = {},
): boolean {
  if (outgoing.headersSent) {
    outgoing.destroy();
    return false;
  }
  const { code, headers, body } = timedOut();
  // An upload that never ends is what took so long: nothing behind it on the connection is a request.
  if (!incoming.complete) outgoing.shouldKeepAlive = false;
  outgoing.writeHead(code, { ...headers, ...more });
  outgoing.end(body);
  return true;
}

/** The 504 of an exchange that took too long, for who writes it by hand. */
export function timedOutResponse(): Response {
  return statusResponse('Timeout', message);
}

/** Why such an exchange is broken off. */
export function timedOutError(): Error {
  return new Error('the request took longer than the request time-out');
}

/** The same in its parts, for who writes it without a `Response`. */
export function timedOut(): ReturnType<typeof statusAnswer> {
  return statusAnswer('Timeout', message);
}

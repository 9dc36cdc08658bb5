import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import { statusAnswer } from '../apimachinery/status.ts';
import type { NodeIncoming, NodeOutgoing } from './node-inbound.ts';

/**
 * Ends an exchange that took too long, past whoever is still working on its answer, as kube-apiserver's time-out
 * filter does (k8s.io/apiserver pkg/server/filters/timeout.go): 504 with its words while the client has nothing,
 * else a break, so that it cannot take the part for the whole.
 * @param more header lines of the 504.
 * @returns whether the client was given the 504.
 */
export function endTimedOut(
  incoming: NodeIncoming,
  outgoing: NodeOutgoing,
  more: Readonly<Record<string, string>> = {},
): boolean {
  if (outgoing.headersSent) {
    const error = new Error('the request took longer than the request time-out');
    // INTERNAL_ERROR: close() would end the stream in good order first.
    if ('stream' in outgoing) outgoing.stream.destroy(error);
    else outgoing.destroy();
    return false;
  }
  const { code, headers, body } = statusAnswer(
    'Timeout',
    'Timeout: request did not complete within the allotted timeout',
  );
  const lines = { ...headers, ...more };
  if ('stream' in outgoing) answerHttp2(outgoing, code, lines, body);
  else answerHttp1(incoming, outgoing, code, lines, body);
  return true;
}

function answerHttp2(
  outgoing: Http2ServerResponse,
  code: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  outgoing.writeHead(code, headers);
  outgoing.end(body);
}

function answerHttp1(
  incoming: NodeIncoming,
  outgoing: ServerResponse,
  code: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void {
  // An upload that never ends is what took so long: nothing behind it on the connection is a request.
  if (!incoming.complete) outgoing.shouldKeepAlive = false;
  outgoing.writeHead(code, headers);
  outgoing.end(body);
}

import type { IncomingHttpHeaders } from 'node:http';
import { type Agent, request } from 'node:https';
import { TLSSocket } from 'node:tls';

/** One request of a client. */
export interface ClientRequest {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly body?: object;
  readonly accept?: string;
}

export interface Answer {
  readonly kind: 'answer';
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** No whole answer. */
export interface Failure {
  readonly kind: 'failure';
  /** No byte of the request has left: the connection was never made. */
  readonly unsent: boolean;
  /** It went out on a connection that had served others before. */
  readonly reused: boolean;
  readonly message: string;
}

/** Milliseconds without a sign of life; on a crowded machine a process may stand still for seconds. */
const patience = 20_000;
/** The same for a watch, which may have nothing to tell for long. */
const watchPatience = 120_000;

/**
 * Sends a request once, over HTTP/1.1.
 * @param onChunk takes the body of a 200 as it comes, in place of the response
 */
export function attempt(
  origin: string,
  agent: Agent,
  { method, path, body, accept = 'application/json' }: ClientRequest,
  onChunk?: (chunk: string) => void,
  signal?: AbortSignal,
): Promise<Answer | Failure> {
  const { promise, resolve } = Promise.withResolvers<Answer | Failure>();
  let isConnected = false;
  const content = body === undefined ? undefined : JSON.stringify(body);
  const outgoing = request(`${origin}${path}`, {
    method,
    agent,
    signal,
    timeout: onChunk === undefined ? patience : watchPatience,
    headers: {
      accept,
      ...(content === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
    },
  });
  const fail = (message: string): void =>
    resolve({
      kind: 'failure',
      unsent: !isConnected && !outgoing.reusedSocket,
      reused: outgoing.reusedSocket,
      message,
    });
  outgoing.once('socket', (socket) => {
    if (!(socket instanceof TLSSocket) || socket.authorized || outgoing.reusedSocket) isConnected = true;
    else
      socket.once('secureConnect', () => {
        isConnected = true;
      });
  });
  outgoing.once('timeout', () => outgoing.destroy(new Error('no sign of life in time')));
  outgoing.once('error', (error) => fail(error.message));
  outgoing.once('response', (response) => {
    let text = '';
    const streams = onChunk !== undefined && response.statusCode === 200;
    response.setEncoding('utf8').on('data', (chunk: string) => {
      if (streams) onChunk(chunk);
      else text += chunk;
    });
    // A body that breaks off emits this and no end.
    response.once('error', (error) => fail(`the response broke off: ${error.message}`));
    response.once('end', () =>
      resolve({ kind: 'answer', status: response.statusCode ?? 0, headers: response.headers, body: text }),
    );
  });
  outgoing.end(content);
  return promise;
}

import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import type { TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { trusting } from './certificate.ts';

export interface WireRequest {
  readonly method?: string;
  readonly path?: string;
  /** name, value, name, value. */
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
}

/** An answer as it stood on the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** Asks by Node's own client. */
export async function askHttp2(
  session: ClientHttp2Session,
  { method = 'GET', path = '/', headers = [], body }: WireRequest = {},
): Promise<WireAnswer> {
  const stream = session.request([':method', method, ':path', path, ...headers], {
    endStream: body === undefined,
  });
  if (body !== undefined) stream.end(body);
  const head = Promise.withResolvers<readonly string[]>();
  stream.once('response', (_headers, _flags, rawHeaders) => head.resolve(rawHeaders));
  stream.once('error', head.reject);
  stream.once('close', () => head.reject(new Error(`closed with code ${stream.rstCode}`)));
  const lines = await head.promise;
  const chunks = await stream.toArray();
  const pseudo = lines.indexOf(':status');
  return {
    status: Number(lines[pseudo + 1]),
    statusMessage: '',
    headers: lines.filter((_, index) => index - (index % 2) !== pseudo),
    body: Buffer.concat(chunks),
  };
}

/** An HTTP/2 connection of Node's own client, destroyed at the end of the test. */
export function http2Client(context: TestContext, port: number): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    ...trusting,
    maxSendHeaderBlockLength: 1024 * 1024,
  });
  session.on('error', () => session.destroy());
  context.after(() => session.destroy());
  return session;
}

/** A connection on which the test writes by hand, destroyed at its end. */
export async function rawClient(context: TestContext, port: number): Promise<TLSSocket> {
  const socket = connect({ port, ...trusting, ALPNProtocols: ['h2'] });
  socket.on('error', () => socket.destroy());
  context.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { TestContext } from 'node:test';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import type { RawHeaders } from '../../src/apimachinery/raw-headers.ts';
import { type Protocol, servingAuthority } from './node-exchange.ts';

/** An answer as it stood on the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: RawHeaders;
  readonly body: Buffer;
}

export interface WireRequest {
  readonly method?: string;
  readonly path?: string;
  /** name, value, name, value. */
  readonly headers?: readonly string[];
  readonly body?: string | Buffer;
}

/** Asks the router over HTTP/1.1, on a connection of its own. */
export async function askHttp1(port: number, request: WireRequest = {}): Promise<WireAnswer> {
  const { method = 'GET', path = '/', headers = [], body } = request;
  const length = body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))];
  const outgoing = httpsRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    ca: servingAuthority.certificate,
    headers: ['host', `127.0.0.1:${port}`, ...headers, ...length, 'connection', 'close'],
  });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  return {
    status: incoming.statusCode ?? 0,
    statusMessage: incoming.statusMessage ?? '',
    headers: incoming.rawHeaders,
    body: Buffer.concat(await incoming.toArray()),
  };
}

/** An HTTP/2 connection to the router, closed at the end of the test. */
export function http2Client(context: TestContext, port: number): ClientHttp2Session {
  const session = connectHttp2(`https://127.0.0.1:${port}`, {
    ca: servingAuthority.certificate,
    maxSendHeaderBlockLength: 1024 * 1024,
  });
  session.on('error', () => {});
  context.after(() => session.destroy());
  return session;
}

/** Asks the router over HTTP/2. */
export async function askHttp2(session: ClientHttp2Session, request: WireRequest = {}): Promise<WireAnswer> {
  const { method = 'GET', path = '/', headers = [], body } = request;
  const stream = session.request([':method', method, ':path', path, ...headers], {
    endStream: body === undefined,
  });
  if (body !== undefined) stream.end(body);
  const answered = new Promise<readonly string[]>((resolve, reject) => {
    stream.once('response', (_headers, _flags, rawHeaders) => resolve(rawHeaders));
    stream.once('error', reject);
    stream.once('close', () => reject(new Error(`closed with code ${stream.rstCode}`)));
  });
  const lines = await answered;
  const body2 = Buffer.concat(await stream.toArray());
  const pseudo = lines.indexOf(':status');
  return {
    status: Number(lines[pseudo + 1]),
    statusMessage: '',
    headers: lines.filter((_, index) => index - (index % 2) !== pseudo),
    body: body2,
  };
}

/** A TLS connection to the router on which the test writes HTTP by hand. */
export async function rawClient(
  context: TestContext,
  port: number,
  protocol: Protocol = 'http/1.1',
): Promise<TLSSocket> {
  const socket = connectTls({
    host: '127.0.0.1',
    port,
    ca: servingAuthority.certificate,
    ALPNProtocols: [protocol],
  });
  socket.on('error', () => {});
  context.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** Everything that still comes on `socket`. */
export async function readToEnd(socket: TLSSocket): Promise<string> {
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  if (!socket.readableEnded && !socket.destroyed) {
    await new Promise<void>((resolve) => {
      socket.on('end', () => resolve()).on('close', () => resolve());
    });
  }
  return Buffer.concat(chunks).toString('latin1');
}

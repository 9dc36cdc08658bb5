import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import { askHttp2, type WireAnswer, type WireRequest } from '../../../packages/http2/test/node-client.ts';
import { allHeaders } from '../../../src/apimachinery/raw-headers.ts';
import type { CertificatePair } from '../certificates.ts';

export type { WireAnswer, WireRequest };

interface TlsClientOptions {
  /** Default `127.0.0.1`. */
  readonly host?: string;
  readonly port: number;
  /** PEM; what the server's certificate is checked against. */
  readonly ca: string;
  /** The client's own certificate. Default: none. */
  readonly pair?: CertificatePair | undefined;
}

/** An answer, whatever it came over. */
export interface Answer {
  readonly status: number;
  readonly text: string;
}

/** For `connect` of `node:tls`. */
export function tlsClientOptions({ host = '127.0.0.1', port, ca, pair }: TlsClientOptions) {
  return {
    host,
    // In every certificate of the tests, whatever address it is at.
    servername: 'localhost',
    port,
    ca,
    ...(pair === undefined ? {} : { cert: pair.chain, key: pair.privateKey }),
  };
}

/** Asks over HTTP/1.1, on a connection of its own. */
export async function exchangeHttp1(
  options: TlsClientOptions,
  { method = 'GET', path = '/', headers = [], body }: WireRequest,
): Promise<WireAnswer> {
  const outgoing = httpsRequest({
    ...tlsClientOptions(options),
    method,
    path,
    agent: false,
    headers: [
      ...['host', `127.0.0.1:${options.port}`],
      ...headers,
      ...(body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))]),
      // A test that nominates headers itself says `close` there.
      ...(allHeaders(headers, 'connection').length > 0 ? [] : ['connection', 'close']),
    ],
  });
  outgoing.end(body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks = await incoming.toArray();
  outgoing.destroy();
  return {
    status: incoming.statusCode ?? 0,
    statusMessage: incoming.statusMessage ?? '',
    headers: incoming.rawHeaders,
    body: Buffer.concat(chunks),
  };
}

/** A connection on which HTTP is written by hand, destroyed at the end of the test. */
export async function openSocket(
  context: TestContext,
  options: TlsClientOptions,
  protocol: 'h2' | 'http/1.1' = 'http/1.1',
): Promise<TLSSocket> {
  const socket = connect({ ...tlsClientOptions(options), ALPNProtocols: [protocol] });
  socket.on('error', () => socket.destroy());
  context.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** An HTTP/2 connection, destroyed at the end of the test. */
export function openHttp2(context: TestContext, options: TlsClientOptions): ClientHttp2Session {
  const session = connectHttp2(`https://${options.host ?? '127.0.0.1'}:${options.port}`, {
    ...tlsClientOptions(options),
    maxSendHeaderBlockLength: 1024 * 1024,
  });
  session.on('error', () => session.destroy());
  context.after(() => session.destroy());
  return session;
}

/** Asks over HTTP/1.1 on a connection that stays open; the answer has a Content-Length, or its head is all. */
export async function askOverHttp1(
  socket: TLSSocket,
  target: string,
  lines: readonly string[] = [],
): Promise<Answer> {
  socket.write([`GET ${target} HTTP/1.1`, 'Host: localhost', ...lines, '', ''].join('\r\n'));
  const head = await readUntil(socket, '\r\n\r\n');
  return { status: Number(head.split(' ', 2)[1]), text: head };
}

/** Reads until what came contains `mark`; the end of the stream before it is an error. */
export async function readUntil(stream: Readable, mark: string): Promise<string> {
  // An error ends the stream, which is noticed below. Later, the end of the test may reset what is still open.
  if (stream.listenerCount('error') === 0) stream.on('error', () => {});
  let text = '';
  while (!text.includes(mark)) {
    const chunk: Buffer | null = stream.read();
    if (chunk !== null) text += chunk.toString('latin1');
    else if (stream.readableEnded || stream.destroyed) throw new Error(`it ended after: ${text}`);
    else await somethingNew(stream);
  }
  return text;
}

/** Leaves no listener behind: a long answer comes in many pieces. */
function somethingNew(stream: Readable): Promise<void> {
  return new Promise((resolve) => {
    const woken = (): void => {
      stream.off('readable', woken).off('end', woken).off('close', woken);
      resolve();
    };
    stream.on('readable', woken).on('end', woken).on('close', woken);
  });
}

/** Asks over HTTP/2 on the given connection and reads the answer to its end. */
export async function askOverHttp2(
  session: ClientHttp2Session,
  target: string,
  request: Omit<WireRequest, 'path'> = {},
): Promise<Answer> {
  const { status, body } = await askHttp2(session, { ...request, path: target });
  return { status, text: body.toString() };
}

import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import type { Readable } from 'node:stream';
import type { TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { CertificatePair } from './certificates.ts';

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

function tls({ host = '127.0.0.1', port, ca, pair }: TlsClientOptions) {
  return {
    host,
    // In every certificate of the tests, whatever address it is at.
    servername: 'localhost',
    port,
    ca,
    ...(pair === undefined ? {} : { cert: pair.chain, key: pair.privateKey }),
  };
}

/** A connection for HTTP/1.1 written by hand, destroyed at the end of the test. */
export async function openHttp1(context: TestContext, options: TlsClientOptions): Promise<TLSSocket> {
  const socket = connect({ ...tls(options), ALPNProtocols: ['http/1.1'] });
  socket.on('error', () => socket.destroy());
  context.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return socket;
}

/** An HTTP/2 connection, destroyed at the end of the test. */
export function openHttp2(context: TestContext, options: TlsClientOptions): ClientHttp2Session {
  const session = connectHttp2(`https://${options.host ?? '127.0.0.1'}:${options.port}`, tls(options));
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
  {
    method = 'GET',
    headers = [],
    body,
  }: { method?: string; headers?: readonly string[]; body?: string } = {},
): Promise<Answer> {
  const stream = session.request([':method', method, ':path', target, ...headers], {
    endStream: body === undefined,
  });
  if (body !== undefined) stream.end(body);
  const [head] = await once(stream, 'response');
  let text = '';
  for await (const chunk of stream) text += chunk;
  return { status: Number(head[':status']), text };
}

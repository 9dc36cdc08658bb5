import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect, type SecureClientSessionOptions } from 'node:http2';
import { request as httpsRequest } from 'node:https';
import { allHeaders, type RawHeaders } from '../../../src/apimachinery/raw-headers.ts';
import { type Client, clientTls } from './certificates.ts';
import type { Protocol } from './recording-backend.ts';
import { assertNoSecretIn } from './secrets.ts';

export interface WireRequest {
  readonly protocol?: Protocol;
  readonly client?: Client;
  readonly method?: string;
  readonly path?: string;
  /** name, value, name, value. */
  readonly headers?: RawHeaders;
  readonly body?: string;
}

/** An answer as it stood on the wire. */
export interface WireAnswer {
  readonly status: number;
  readonly headers: RawHeaders;
  readonly body: string;
}

/** Asks the router on a connection of its own. The body of a failure is searched for secrets. */
export async function ask(port: number, request: WireRequest = {}): Promise<WireAnswer> {
  const answer = request.protocol === 'h2' ? await overHttp2(port, request) : await overHttp1(port, request);
  if (answer.status >= 400) assertNoSecretIn(answer.body, `the answer ${answer.body}`);
  return answer;
}

async function overHttp1(port: number, request: WireRequest): Promise<WireAnswer> {
  const { client = 'nobody', method = 'GET', path = '/', headers = [], body } = request;
  const outgoing = httpsRequest({
    host: '127.0.0.1',
    port,
    method,
    path,
    agent: false,
    servername: 'localhost',
    ...clientTls(client),
    headers: [
      ...['host', `127.0.0.1:${port}`],
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
    headers: incoming.rawHeaders,
    body: Buffer.concat(chunks).toString('latin1'),
  };
}

async function overHttp2(port: number, request: WireRequest): Promise<WireAnswer> {
  const { client = 'nobody', method = 'GET', path = '/', headers = [], body } = request;
  const options: SecureClientSessionOptions & { readonly strictSingleValueFields: boolean } = {
    servername: 'localhost',
    maxSendHeaderBlockLength: 1024 * 1024,
    // Attackers send twice what should stand once.
    strictSingleValueFields: false,
    ...clientTls(client),
  };
  const session = connect(`https://127.0.0.1:${port}`, options);
  try {
    const failed = Promise.withResolvers<never>();
    session.on('error', failed.reject);
    const stream = session.request([':method', method, ':path', path, ...headers], {
      endStream: body === undefined,
    });
    if (body !== undefined) stream.end(body);
    stream.on('error', failed.reject);
    stream.on('close', () => failed.reject(new Error(`closed with code ${stream.rstCode}`)));
    // A failure after the answer is nobody's any more.
    failed.promise.catch(() => {});
    const head = Promise.withResolvers<readonly string[]>();
    stream.once('response', (_headers, _flags, rawHeaders) => head.resolve(rawHeaders));
    const lines = await Promise.race([head.promise, failed.promise]);
    const chunks = await stream.toArray();
    const pseudo = lines.indexOf(':status');
    return {
      status: Number(lines[pseudo + 1]),
      headers: lines.filter((_, index) => index - (index % 2) !== pseudo),
      body: Buffer.concat(chunks).toString('latin1'),
    };
  } finally {
    session.destroy();
  }
}

import { randomUUID, X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest, Http2ServerResponse } from 'node:http2';
import { type DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { type Answer, type AnswerStream, compressed, failureAnswer } from './answer.ts';
import {
  type Authenticate,
  commonNameOf,
  type ExampleUser,
  type PresentedCertificate,
} from './authentication.ts';
import { impersonated } from './impersonation.ts';
import { readBody } from './request-body.ts';
import { handleRequest, type ReceivedRequest } from './request-handler.ts';
import type { ServerContext } from './resource-request.ts';

/** A request as it arrived, for tests that check it. */
export interface RequestRecord {
  readonly method: string;
  /** The request target as received, undecoded. */
  readonly url: string;
  readonly httpVersion: string;
  /** Name, value, name, value, … as received; the pseudo-headers of HTTP/2 are left out. */
  readonly rawHeaders: readonly string[];
  /** User that the request acts as; absent when that was refused (401, or 403 for an impersonation). */
  readonly user?: ExampleUser;
  /** CN of the client certificate, if one was presented. */
  readonly clientCertificateCommonName?: string;
  readonly body: Uint8Array;
}

export interface HttpOptions {
  readonly context: ServerContext;
  readonly authenticate: Authenticate;
  /** Called before the answer is sent. */
  readonly onRequest?: ((record: RequestRecord) => void) | undefined;
}

/** Reads a request, has it answered, and sends the answer. Both protocol versions come through here. */
export async function serve(
  { context, authenticate, onRequest }: HttpOptions,
  request: Http2ServerRequest,
  response: Http2ServerResponse,
): Promise<void> {
  // A client that goes away makes both emit errors; the close of the response is what counts.
  request.on('error', () => undefined);
  response.on('error', () => undefined);
  let clientGone = false;
  response.once('close', () => {
    clientGone = true;
  });
  const certificate = certificateOf(request.stream?.session ?? request.socket, request.socket);
  const rawHeaders = plainHeaders(request.rawHeaders);
  let user: ExampleUser | undefined;
  let body: Uint8Array = new Uint8Array();
  let answer: Answer;
  try {
    user = impersonated(authenticate(rawHeaders, certificate), rawHeaders);
    body = await readBody(request);
    answer = handleRequest(context, receivedRequest(request, user, body));
  } catch (error) {
    answer = failureAnswer(error);
  }
  onRequest?.(recordOf(request, { rawHeaders, certificate, user, body }));
  if (clientGone) return;
  send(request, response, compressed(answer, textOf(request.headers['accept-encoding'])));
}

export function receivedRequest(
  { method, url, headers }: Pick<IncomingMessage | Http2ServerRequest, 'method' | 'url' | 'headers'>,
  user: ExampleUser,
  body: Uint8Array,
): ReceivedRequest {
  return {
    method: method ?? '',
    url: url ?? '',
    user,
    accept: textOf(headers['accept']),
    contentType: textOf(headers['content-type']),
    ifNoneMatch: textOf(headers['if-none-match']),
    body,
  };
}

export function recordOf(
  request: Pick<IncomingMessage | Http2ServerRequest, 'method' | 'url' | 'httpVersion'>,
  seen: {
    readonly rawHeaders: readonly string[];
    readonly certificate: PresentedCertificate | undefined;
    readonly user: ExampleUser | undefined;
    readonly body: Uint8Array;
  },
): RequestRecord {
  const { rawHeaders, certificate, user, body } = seen;
  return {
    method: request.method ?? '',
    url: request.url ?? '',
    httpVersion: request.httpVersion,
    rawHeaders,
    ...(user === undefined ? {} : { user }),
    ...(certificate === undefined ? {} : { clientCertificateCommonName: certificate.commonName }),
    body,
  };
}

const certificates = new WeakMap<object, PresentedCertificate | undefined>();

/** A connection keeps its certificate, and reading one costs more than the rest of a short request. */
function certificateOf(connection: object, socket: unknown): PresentedCertificate | undefined {
  if (!certificates.has(connection)) certificates.set(connection, presentedCertificate(socket));
  return certificates.get(connection);
}

/** The client certificate of a connection with the chain that came along; `undefined` when there is none. */
export function presentedCertificate(socket: unknown): PresentedCertificate | undefined {
  if (!(socket instanceof TLSSocket)) return undefined;
  // Node answers an empty object when the client presented nothing.
  const leaf: Partial<DetailedPeerCertificate> = socket.getPeerCertificate(true) ?? {};
  if (leaf.raw === undefined) return undefined;
  const intermediates: Buffer[] = [];
  // A self-signed certificate is its own issuer: the walk ends at the first one seen before.
  const seen = new Set<Partial<DetailedPeerCertificate>>([leaf]);
  for (let issuer = leaf.issuerCertificate; issuer !== undefined && !seen.has(issuer); ) {
    seen.add(issuer);
    intermediates.push(issuer.raw);
    issuer = issuer.issuerCertificate;
  }
  const commonName = commonNameOf(new X509Certificate(leaf.raw));
  return { raw: leaf.raw, intermediates, verified: socket.authorized, commonName };
}

/** Header lines without those that only HTTP/2 has (`:method`, `:path`, …). */
function plainHeaders(rawHeaders: readonly string[]): string[] {
  const lines: string[] = [];
  for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    if (!name.startsWith(':')) lines.push(name, rawHeaders[index + 1] ?? '');
  }
  return lines;
}

function send(request: Http2ServerRequest, response: Http2ServerResponse, answer: Answer): void {
  const headers: Record<string, string> = {
    'cache-control': 'no-cache, private',
    'audit-id': textOf(request.headers['audit-id']) ?? randomUUID(),
    ...answer.headers,
  };
  if (answer.kind === 'whole') {
    // 304 has no body, and no length that could be taken for one.
    if (answer.code !== 304) headers['content-length'] = String(Buffer.byteLength(answer.body));
    response.writeHead(answer.code, headers);
    response.end(request.method === 'HEAD' ? '' : answer.body);
    return;
  }
  response.writeHead(answer.code, headers);
  // HTTP/2 has sent them by now; HTTP/1.1 waits for the first chunk, which a quiet watch does not have.
  if ('flushHeaders' in response && typeof response.flushHeaders === 'function') response.flushHeaders();
  answer.start(streamOf(response));
}

function streamOf(response: Http2ServerResponse): AnswerStream {
  let open = true;
  response.once('close', () => {
    open = false;
  });
  return {
    write: (chunk) => {
      if (open) response.write(chunk);
    },
    end: () => {
      if (open) response.end();
    },
    onClose: (listener) => {
      if (open) response.once('close', listener);
      else listener();
    },
  };
}

/** Node joins repeated lines of these headers; only `set-cookie` would be a list. */
function textOf(value: string | readonly string[] | undefined): string | undefined {
  return typeof value === 'string' ? value : value?.join(', ');
}

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { isIP } from 'node:net';
import { pipeline } from 'node:stream';
import { connect, createSecureContext } from 'node:tls';
import * as v from 'valibot';
import { errorCode } from '../../runtime/errors.ts';
import { fromJson } from '../../runtime/validation.ts';
import type { AddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { checkServerIdentity, guardedLookup, refusedAddress, tcpKeepAliveDelay } from './tls-dialer.ts';

export interface HttpsServer {
  /** `https://host:port`; a path in it stands before that of each request. */
  readonly origin: string;
  /** The name that its certificate must carry. Default: the host. */
  readonly serverName?: string | undefined;
  /** Default: the system's own. */
  readonly certificateAuthorities?: string | undefined;
  /**
   * True if a certificate among the authorities is trusted that signs none itself: the server's own. Default: false.
   */
  readonly allowPartialTrustChain?: boolean;
  readonly clientCertificate?: { readonly certificate: string; readonly key: string } | undefined;
  /** For addresses out of a snapshot. Default: every address may be dialled. */
  readonly addressPolicy?: AddressPolicy | undefined;
}

export interface HttpsRequest {
  readonly path: string;
  /** Default: `GET`. */
  readonly method?: string;
  readonly headers?: readonly string[];
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** Any status. A redirect is never followed (CVE-2022-3172). */
interface HttpsResponseHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export interface HttpsResponse extends HttpsResponseHead {
  readonly text: string;
}

export interface HttpsStream extends HttpsResponseHead {
  /** As it arrives. Whoever stops to read it ends the connection. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Resolves when the connection is free for another request, or has ended. */
  readonly over: Promise<void>;
  discard(): void;
}

export interface ResponseLimits {
  readonly responseTimeout: number;
  /** Uncompressed bytes. */
  readonly longestResponse: number;
}

/** Milliseconds that a connection without a request is kept: kube-apiserver closes it after 90 s. */
const idleTimeout = 30_000;

/**
 * Asks one server over HTTPS whatever is not a client's request: what the sync job reads and pushes, `status`, `doctor`,
 * `install`.
 *
 * HTTP/1.1: after a power failure of its machine, an HTTP/2 connection stays in use until TCP gives up, a quarter of an
 * hour; an HTTP/1.1 connection ends with the first request that takes too long. Each connection is verified anew: none
 * resumes a TLS session.
 */
export class HttpsClient {
  readonly #server: HttpsServer;
  readonly #connectTimeout: number;
  readonly #agent: Agent;
  readonly #tls;

  /** @param connectTimeout for the name, TCP and TLS, milliseconds */
  constructor(server: HttpsServer, { keepAlive = true, connectTimeout = 5_000 } = {}) {
    const { certificateAuthorities, clientCertificate, addressPolicy } = server;
    const { hostname, port } = new URL(server.origin);
    // URL keeps the brackets of an IPv6 address.
    const host = hostname.replace(/^\[|\]$/g, '');
    const { serverName = host } = server;
    this.#server = server;
    this.#connectTimeout = connectTimeout;
    this.#tls = {
      host,
      port: port === '' ? 443 : Number(port),
      // No SNI for an IP address (RFC 6066 section 3), which is verified all the same.
      servername: isIP(serverName) === 0 ? serverName : '',
      checkServerIdentity: (_name: string, certificate: Parameters<typeof checkServerIdentity>[1]) =>
        checkServerIdentity(serverName, certificate),
      ...(addressPolicy === undefined ? {} : { lookup: guardedLookup(addressPolicy) }),
      // One for all connections: to read certificates and keys takes longer than a handshake.
      secureContext: createSecureContext({
        ca: certificateAuthorities,
        cert: clientCertificate?.certificate,
        key: clientCertificate?.key,
        allowPartialTrustChain: server.allowPartialTrustChain === true,
      }),
    };
    this.#agent = new Agent({
      keepAlive,
      keepAliveMsecs: tcpKeepAliveDelay,
      timeout: idleTimeout,
      maxCachedSessions: 0,
      // Here, not with each request: Node shares no connection of requests that check the server themselves.
      ...this.#tls,
    });
  }

  /** @throws when there is no response, or the address may not be dialled */
  async open(asked: HttpsRequest): Promise<HttpsStream> {
    const { incoming, over } = await this.#send(asked);
    const { statusCode: status = 0, headers } = incoming;
    // An error of a body that nobody reads is nobody's.
    incoming.on('error', () => {});
    const isZipped =
      headers['content-encoding']?.toLowerCase() === 'gzip' && asked.method !== 'HEAD' && status !== 304;
    // Loaded where it is needed: `status` is fast without it.
    const body = isZipped
      ? pipeline(incoming, (await import('node:zlib')).createGunzip(), () => {})
      : incoming;
    return { status, headers, body, over, discard: () => void incoming.destroy() };
  }

  /** @throws when there is no complete response within the limits, or the address may not be dialled */
  async ask(
    asked: HttpsRequest,
    { responseTimeout, longestResponse }: ResponseLimits,
  ): Promise<HttpsResponse> {
    const deadline = AbortSignal.timeout(responseTimeout);
    const signal = asked.signal === undefined ? deadline : AbortSignal.any([asked.signal, deadline]);
    try {
      const { status, headers, body, over } = await this.open({ ...asked, signal });
      const text = await textOf(body, longestResponse);
      await over;
      return { status, headers, text };
    } catch (cause) {
      if (!deadline.aborted || asked.signal?.aborted === true) throw cause;
      throw new TimeoutError(`no complete response within ${responseTimeout} ms`, { cause });
    }
  }

  async servingNames(signal: AbortSignal): Promise<readonly string[]> {
    this.#checkAddress();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const socket = connect({ ...this.#tls, ALPNProtocols: ['http/1.1'] }, resolve);
    socket.on('error', reject).on('close', () => reject(new Error('closed during the TLS handshake')));
    const abort = () => void socket.destroy(new Error('cancelled'));
    signal.addEventListener('abort', abort);
    try {
      if (signal.aborted) abort();
      await promise;
      return dnsNames(socket.getPeerCertificate().subjectaltname);
    } finally {
      signal.removeEventListener('abort', abort);
      socket.destroy();
    }
  }

  retire(): void {
    this.#agent.maxFreeSockets = 0;
    for (const sockets of Object.values(this.#agent.freeSockets)) {
      for (const socket of sockets ?? []) socket.destroy();
    }
  }

  close(): void {
    this.#agent.destroy();
  }

  async #send(asked: HttpsRequest): Promise<{ incoming: IncomingMessage; over: Promise<void> }> {
    this.#checkAddress();
    const { host, pathname } = new URL(this.#server.origin);
    const { path, method = 'GET', headers = [], body, signal } = asked;
    for (;;) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const outgoing = request({
        host: this.#tls.host,
        port: this.#tls.port,
        agent: this.#agent,
        path: `${pathname.replace(/\/$/, '')}${path}`,
        method,
        headers: ['host', host, ...headers, ...lengthOf(body)],
        ...(signal === undefined ? {} : { signal }),
      });
      const over = new Promise<void>((ended) => outgoing.once('close', ended));
      // Node tells of no error where the response is a 101 that nobody has asked for.
      over.then(() => reject(new Error('the connection was closed without a response')));
      outgoing.on('error', reject).on('response', (incoming) => {
        // Node ends a connection after HEAD where the response has no length, in case a body follows all the same.
        if (method === 'HEAD' && incoming.headers.connection !== 'close') outgoing.shouldKeepAlive = true;
        resolve(incoming);
      });
      outgoing.once('socket', (socket) => {
        if (outgoing.reusedSocket) return;
        const late = () =>
          void outgoing.destroy(new TimeoutError(`not connected within ${this.#connectTimeout} ms`));
        const timer = setTimeout(late, this.#connectTimeout);
        const settled = () => clearTimeout(timer);
        socket.once('secureConnect', settled).once('close', settled);
      });
      outgoing.end(body);
      try {
        return { incoming: await promise, over };
      } catch (error) {
        // The server may have closed an idle connection when the request was under way to it (RFC 9110 section 9.2.2).
        const isStale = outgoing.reusedSocket && errorCode(error) === 'ECONNRESET';
        if (!isStale || signal?.aborted === true || (method !== 'GET' && method !== 'HEAD')) throw error;
      }
    }
  }

  /** Sockets call `lookup` for names only. */
  #checkAddress(): void {
    const { addressPolicy } = this.#server;
    if (addressPolicy === undefined || isIP(this.#tls.host) === 0) return;
    const refusal = refusedAddress(this.#tls.host, addressPolicy);
    if (refusal !== undefined) throw new RangeError(`${this.#tls.host} ${refusal}`);
  }
}

/** The methods of an {@link HttpsClient}, for those who are given a way to open one. */
export type ServerClient = Pick<HttpsClient, 'ask' | 'open' | 'servingNames' | 'retire' | 'close'>;

/** @param connectTimeout as of {@link HttpsClient} */
export type OpenServerClient = (
  server: HttpsServer,
  options?: { readonly connectTimeout?: number },
) => ServerClient;

export const openHttpsClient: OpenServerClient = (server, options) => new HttpsClient(server, options);

/** One request on a connection of its own. @throws as {@link HttpsClient.ask} */
export async function askOverHttps(
  asked: HttpsServer & HttpsRequest & ResponseLimits,
): Promise<HttpsResponse> {
  const client = new HttpsClient(asked, { keepAlive: false, connectTimeout: asked.responseTimeout });
  try {
    return await client.ask(asked, asked);
  } finally {
    client.close();
  }
}

class TimeoutError extends Error {
  readonly code = 'ETIMEDOUT';
}

async function textOf(body: AsyncIterable<Uint8Array>, limit: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > limit) throw new RangeError(`the response is longer than ${limit} bytes`);
    chunks.push(chunk);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks, length));
  } catch (cause) {
    throw new Error('the response is not UTF-8', { cause });
  }
}

/** Node adds none to header lines that are given as a list: the body would be sent in chunks. */
function lengthOf(body: string | undefined): readonly string[] {
  return body === undefined ? [] : ['content-length', String(Buffer.byteLength(body))];
}

/**
 * Node prints the names in one text, `DNS:a, IP Address:…`, and puts ambiguous ones in quotes (CVE-2021-44532): those are
 * not host names.
 */
function dnsNames(subjectAltName: string | undefined): readonly string[] {
  return (subjectAltName ?? '').split(', ').flatMap((name) => /^DNS:([A-Za-z0-9.-]+)$/.exec(name)?.[1] ?? []);
}

const failureStatus = fromJson(
  v.object({
    message: v.string(),
    details: v.optional(
      v.object({ causes: v.optional(v.array(v.object({ reason: v.string(), message: v.string() }))) }),
    ),
  }),
);

/** The fields of a `metav1.Status` that are used here; `undefined` for any other body. */
export function statusOf(text: string): v.InferOutput<typeof failureStatus> | undefined {
  const parsed = v.safeParse(failureStatus, text);
  return parsed.success ? parsed.output : undefined;
}

/** `<status>: <message of the Status>` of a failed request. */
export function failureText({ status, text }: Pick<HttpsResponse, 'status' | 'text'>): string {
  return `${status}: ${statusOf(text)?.message ?? 'without a Status'}`;
}

import { firstHeader, type RawHeaders, rawHeadersOf } from '../apimachinery/raw-headers.ts';
import type { RequestRecord } from './request-record.ts';

/** A client certificate whose chain the runtime has verified. Never built from an unverified one. */
export interface VerifiedClientCertificate {
  readonly commonName: string;
  readonly organizations: readonly string[];
  /** Kubernetes' own attribute of the subject for a UID; left out where there is none. */
  readonly uid?: string | undefined;
  /** SHA-256 of the certificate's DER form, in lower-case hexadecimal; left out by runtimes that do not tell. */
  readonly sha256?: string | undefined;
  /** Which configured bundle the chain ends in. The same key may not be in both (checked at start). */
  readonly authority: 'client-ca' | 'requestheader-client-ca';
}

export interface ConnectionInfo {
  readonly remoteAddress?: string | undefined;
  readonly clientCertificate?: VerifiedClientCertificate | undefined;
  /** A certificate was presented but could not be verified: why, for logs. */
  readonly clientCertificateError?: string | undefined;
}

/** The version that responds where no server of the preferred one could. */
export interface OtherVersion {
  /** `1.31`; `undefined`: it is not known. */
  readonly minor: string | undefined;
  /** It may have lost what the preferred version knows. */
  readonly isOlder: boolean;
}

/**
 * A request as it was received, with what the web's `Request` has lost: the target byte for byte and the header lines one by
 * one. Runtimes subclass it to carry their own objects to their own transport.
 */
export interface InboundRequest {
  readonly method: string;
  /** The request target as received: path and query, undecoded (RFC 9112 section 3.2.1, origin-form). */
  readonly target: string;
  readonly headers: RawHeaders;
  /** The version of HTTP it came in: `1.0`, `1.1`, `2.0`. Left out by runtimes that do not tell. */
  readonly httpVersion?: string;
  readonly connection: ConnectionInfo;
  /** Reading it starts the transfer, so it is read at most once. */
  body(): ReadableStream<Uint8Array> | null;
  /**
   * Keeps what is read of the body from now on, up to a limit, so that it can be sent to another destination. Left out
   * by runtimes that keep nothing.
   */
  keepBody?(): void;
  /** @returns whether the body, if there is one, can be sent from its first byte on, although a destination was sent it. */
  rewindBody?(): boolean;
  forgetBody?(): void;
  readonly signal: AbortSignal;
  /**
   * Calls `listener` once the exchange is over: response sent whole, or either side gone. Left out by runtimes
   * that cannot tell; a request then counts as in flight until the head of its response.
   */
  onFinished?(listener: () => void): void;
  /**
   * Ends the exchange when it takes longer than the server's request time-out, counted from its receipt: 503 for a read and 504
   * for a write (k8s.io/apiserver pkg/server/filters/timeout.go); a response that has begun is broken off. Left out where there
   * is no such time-out.
   */
  limitDuration?(): void;
  /**
   * Sends a response that no transport has sent itself: the fetch handler has returned `sentElsewhere` at once. Left out by
   * runtimes to which the fetch handler returns a promise of the response.
   */
  respond?(response: Response): void;
  /** Set by `auditIdOf`, on first need. */
  auditId?: string | undefined;
  /** Set by `Router.deliver` where a server of another version than the preferred one responds. */
  otherVersion?: OtherVersion | undefined;
  /** Set by `Router.accept`. */
  record?: RequestRecord | undefined;
}

/**
 * The inbound request of a runtime that offers nothing but the web standard. Its URL parser has already
 * resolved dot segments and rewritten backslashes; where that matters the runtime's adapter must do better.
 *
 * @example
 * ```ts
 * const inbound = inboundFromRequest(new Request('https://router.example/api/v1/pods?limit=1'), {
 *   remoteAddress: '192.0.2.7',
 * });
 * console.log(inbound.method, inbound.target); // GET /api/v1/pods?limit=1
 * ```
 */
export function inboundFromRequest(request: Request, connection: ConnectionInfo = {}): InboundRequest {
  const { url } = request;
  const afterScheme = url.indexOf('//') + 2;
  const pathStart = url.indexOf('/', afterScheme);
  const fragment = url.indexOf('#', afterScheme);
  const end = fragment === -1 ? url.length : fragment;
  return {
    method: request.method,
    target: pathStart === -1 || pathStart >= end ? '/' : url.slice(pathStart, end),
    headers: rawHeadersOf(request.headers),
    connection,
    body: () => request.body,
    rewindBody: () => isUnread(request),
    signal: request.signal,
  };
}

/** A runtime that keeps nothing can send it so far. */
export function isUnread({ body, bodyUsed }: Request): boolean {
  return body === null || !(bodyUsed || body.locked);
}

/** RFC 9112 section 6.3. */
export function announcesBody({ headers }: Pick<InboundRequest, 'headers'>): boolean {
  if (firstHeader(headers, 'transfer-encoding') !== undefined) return true;
  const length = firstHeader(headers, 'content-length');
  return length !== undefined && length.trim() !== '0';
}

export function queryOf(target: string): string {
  const start = target.indexOf('?');
  return start === -1 ? '' : target.slice(start + 1);
}

export function isRead(method: string): boolean {
  return method === 'GET' || method === 'HEAD';
}

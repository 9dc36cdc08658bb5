import { type RawHeaders, rawHeadersOf } from '../apimachinery/raw-headers.ts';

/** A client certificate whose chain the runtime has verified. Never built from an unverified one. */
export interface VerifiedClientCertificate {
  readonly commonName: string;
  /** The O values of the subject, in order. */
  readonly organizations: readonly string[];
  /** Which configured bundle the chain ends in. The same key may not be in both (checked at start). */
  readonly authority: 'client-ca' | 'requestheader-client-ca';
}

/** What is known of the connection a request came in on. */
export interface ConnectionInfo {
  readonly remoteAddress?: string | undefined;
  readonly clientCertificate?: VerifiedClientCertificate | undefined;
  /** A certificate was presented but could not be verified: why, for logs. */
  readonly clientCertificateError?: string | undefined;
}

/**
 * A request as it stood on the wire, with what the web's `Request` has lost: the target byte for byte and
 * the header lines one by one. Runtimes subclass it to carry their own objects to their own transport.
 */
export interface InboundRequest {
  readonly method: string;
  /** The request target as received: path and query, undecoded (RFC 9112 section 3.2.1, origin-form). */
  readonly target: string;
  readonly headers: RawHeaders;
  readonly connection: ConnectionInfo;
  /** The body; `null` when there is none. Reading it starts the transfer, so it is read at most once. */
  body(): ReadableStream<Uint8Array> | null;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

/**
 * The inbound request of a runtime that offers nothing but the web standard. Its URL parser has already
 * resolved dot segments and rewritten backslashes; where that matters the runtime's adapter must do better.
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
    signal: request.signal,
  };
}

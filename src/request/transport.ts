import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { InboundRequest } from './inbound.ts';

/** How a destination proves who it is. */
export type DestinationTrust =
  /** Checked against the peer CA bundle. */
  | { readonly kind: 'peer-ca' }
  /**
   * An extension API server: checked against the APIService's own bundle (PEM), against the runtime's roots
   * where it has none, or not at all where the APIService says so.
   */
  | { readonly kind: 'ca-bundle'; readonly pem: string | undefined }
  | { readonly kind: 'insecure-skip-tls-verify' };

export function isSameTrust(one: DestinationTrust, other: DestinationTrust): boolean {
  if (one.kind !== 'ca-bundle' || other.kind !== 'ca-bundle') return one.kind === other.kind;
  return (one.pem ?? '') === (other.pem ?? '');
}

/** A server that a request can be sent to. */
export interface Destination {
  readonly kind: 'local' | 'peer' | 'extension';
  /** API server ID, or `<service>.<namespace>` of an extension server. */
  readonly id: string;
  /** `https://host:port`, without a path. */
  readonly origin: string;
  /** The name the serving certificate must carry (`kubernetes.default.svc` for peers), at any address. */
  readonly serverName: string;
  readonly trust: DestinationTrust;
}

/** A request that is ready to leave: hygiene done, identity stamped. Only `buildOutboundRequest` makes one. */
export interface OutboundRequest {
  readonly destination: Destination;
  readonly method: string;
  /** The request target, byte for byte as it was received. */
  readonly target: string;
  readonly headers: RawHeaders;
  /**
   * Present the front-proxy client certificate, so that the destination believes the X-Remote headers.
   * False for callers that the router did not authenticate, whose own credentials speak for them, and where a
   * signed token names the caller.
   */
  readonly presentFrontProxyCertificate: boolean;
  /** Watch, log, exec and the like: never cut for being quiet. */
  readonly longRunning: boolean;
  /** Its response is a stream of watch events, which can be ended between two of them. */
  readonly isWatch?: boolean;
  /**
   * For a watch: whether it would now go to a server of another version. A transport that supports it then ends the
   * watch between two events, and its client resumes from there. Left out: the watch stays.
   */
  readonly isMisplaced?: (() => boolean) | undefined;
  /**
   * Of a read: whether another destination could be asked, now that this one has been silent for long. While it returns
   * false, the router keeps waiting. Left out: none could.
   */
  readonly othersLeft?: (() => boolean) | undefined;
}

/** Head of a response: code and header lines as the destination sent them. */
export interface ResponseHead {
  readonly status: number;
  readonly headers: RawHeaders;
}

/** Counts bytes as they pass, a chunk at a time. */
export interface ByteCounter {
  add(bytes: number): void;
}

/** How a response is handled, decided by its head alone. */
export type ResponseDisposition =
  /** Pass it on with these header lines. A transport that handles the body reports its size to `bytes`. */
  | { readonly kind: 'forward'; readonly headers: RawHeaders; readonly bytes?: ByteCounter | undefined }
  /** Drop the destination's response, pass on none of its body, and send this instead. */
  | { readonly kind: 'replace'; readonly response: Response };

export type OnResponseHead = (head: ResponseHead) => ResponseDisposition;

export type TransportErrorCode =
  /** Name not resolved, connection refused, no route. */
  | 'ConnectFailed'
  /** Handshake failed or the serving certificate was not accepted. */
  | 'TLSFailed'
  /** Connected, then closed or reset before a response began. */
  | 'ConnectionClosed'
  /** Connecting, or waiting for the head of the response, took too long. */
  | 'Timeout'
  /** The client went away. */
  | 'ClientGone'
  /** What came back is not valid HTTP, or exceeds the router's limits: 502 when no other server is tried. */
  | 'InvalidResponse'
  /** The request's head exceeds the destination's limit: the response is 431, never tried elsewhere. */
  | 'RequestHeaderFieldsTooLarge';

/** A destination that did not respond. The message may name addresses: for logs, never for clients. */
export class TransportError extends Error {
  override readonly name = 'TransportError';
  readonly code: TransportErrorCode;
  /** False only if provably no byte of the request reached the destination, body untouched. */
  readonly requestMayHaveArrived: boolean;
  constructor(
    code: TransportErrorCode,
    message: string,
    options: { requestMayHaveArrived: boolean; cause?: unknown },
  ) {
    super(message, { cause: options.cause });
    this.code = code;
    this.requestMayHaveArrived = options.requestMayHaveArrived;
  }
}

/** No connection could be made: refused, no route, TLS failure, dial timeout. The next request would fail as well. */
export function foundNoConnection(error: TransportError): boolean {
  return !error.requestMayHaveArrived && ['ConnectFailed', 'TLSFailed', 'Timeout'].includes(error.code);
}

/** Reaches destinations. Each runtime brings its own; tests bring one that records. */
export interface Transport {
  /**
   * Sends one request once and resolves with the destination's response, streamed, its body untouched
   * (compressed stays compressed, redirects are not followed).
   * @throws {TransportError} when no head of a response arrived. A body that breaks off later breaks the
   *   client's stream instead.
   */
  send(outbound: OutboundRequest, inbound: InboundRequest, onResponseHead: OnResponseHead): Promise<Response>;
}

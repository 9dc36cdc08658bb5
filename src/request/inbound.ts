import { firstHeader, type RawHeaders, rawHeadersOf } from '../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Decision } from '../routing/decision.ts';
import type { ByteCount } from '../runtime/bytes.ts';
import type { Destination, NotSentCode, TransportErrorCode } from './destination.ts';
import type { Caller } from './user-info.ts';

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
  /** True if the version may have lost what the preferred version knows. */
  readonly isOlder: boolean;
}

/** A stream that its client may still break off, or all bytes of it. */
export type InboundContent = ReadableStream<Uint8Array> | Uint8Array<ArrayBuffer> | null;

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
  /** The client asks for a tunnel (exec, attach, port-forward). Default false. */
  readonly isUpgrade?: boolean;
  /** The runtime's own request, where header lines stay apart when it is copied. Its content has not been read. */
  readonly web?: Request | undefined;
  /** Reading it starts the transfer, so it is read at most once. */
  body(): ReadableStream<Uint8Array> | null;
  /** The content that `fetch` is to send: `body`, or all of it where it is kept. @throws (rejects) when the client breaks it off */
  contentToSend?(): Promise<InboundContent>;
  /**
   * Keeps what is read of the body from now on, up to a limit, so that it can be sent to another destination. Left out
   * by runtimes that keep nothing.
   */
  keepBody?(): void;
  /** @returns whether the body, if there is one, can be sent from its first byte on, although a destination was sent it. */
  rewindBody?(): boolean;
  forgetBody?(): void;
  /** Counts what is kept of the body as held for its client; where memory runs short the exchange ends. Left out: nobody counts. */
  readonly held?: ByteCount | undefined;
  readonly signal: AbortSignal;
  /**
   * Calls `listener` once the exchange is over: response sent whole, or either side gone. Left out by runtimes
   * that cannot tell; a request then counts as in flight until the head of its response.
   */
  onFinished?(listener: () => void): void;
  /**
   * Calls `listener` when the response is whole, or the exchange has ended before. The client may not have taken all of it:
   * what a client leaves is memory, and no request in flight any more. Left out where that cannot be told.
   */
  onWhole?(listener: () => void): void;
  /**
   * Ends the exchange when it takes longer than the server's request time-out, counted from its receipt: 503 for a read and 504
   * for a write (k8s.io/apiserver pkg/server/filters/timeout.go); a response that has begun is broken off. Left out where there
   * is no such time-out.
   */
  limitDuration?(): void;
  /** Set by `auditIdOf`, on first need. */
  auditId?: string | undefined;
  /** Set where a server of another version than the preferred one is asked. */
  otherVersion?: OtherVersion | undefined;
  /** Set by `Router.accept`. */
  record?: RequestRecord | undefined;
}

/** Variables of a request in the router's Hono apps. */
export interface HandlerEnvironment {
  Variables: { inbound: InboundRequest; requestInfo: RequestInfo; caller: Caller };
  Bindings: object;
}

/**
 * Gives the request as it was received: the runtime's adapter, as `GetConnInfo` is in Hono.
 * @param env the runtime's own, which came with the request
 */
export type GetInboundRequest = (request: Request, env: object | undefined) => InboundRequest;

/** The parts of a request that the web's `Request` holds, for runtimes whose adapter provides no more. */
export const webInbound: GetInboundRequest = (request) => inboundFromRequest(request);

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
  return {
    method: request.method,
    target: targetAsFetchWritesIt(request.url),
    headers: rawHeadersOf(request.headers),
    connection,
    web: request,
    body: () => request.body,
    rewindBody: () => isUnread(request),
    signal: request.signal,
  };
}

/**
 * The target in the one spelling that `fetch` sends, so that what is decided on and signed is what arrives. workerd hands URLs
 * over as they came, and percent-encodes some characters only when it sends them on (URL Standard section 1.3). Where that parser
 * would do more, such as resolve dot segments, the target stays as it came, to be refused.
 */
function targetAsFetchWritesIt(url: string): string {
  const came = targetOf(url);
  const written = targetOf(URL.parse(url)?.href ?? url);
  return unescaped(came) === unescaped(written) ? written : came;
}

function targetOf(url: string): string {
  const afterScheme = url.indexOf('//') + 2;
  const pathStart = url.indexOf('/', afterScheme);
  const fragment = url.indexOf('#', afterScheme);
  const end = fragment === -1 ? url.length : fragment;
  return pathStart === -1 || pathStart >= end ? '/' : url.slice(pathStart, end);
}

function unescaped(target: string): string {
  return target.replace(/%[0-9A-Fa-f]{2}/g, (encoded) =>
    String.fromCharCode(Number.parseInt(encoded.slice(1), 16)),
  );
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

export type DropReason =
  /** Too many requests in flight (429). */
  | 'Overloaded'
  /** The only server that could respond was lost and is not ready yet, or a write waits for one of its version (503). */
  | 'ServerNotReady'
  /** A write depends on which version it meets, or may by now, and the last word of the API servers is too old to say which (503). */
  | 'VersionNotConfirmed'
  /**
   * The request took longer than `--request-timeout` (503 for a read, 504 for a write, or a reset when the response had
   * begun).
   */
  | 'RequestTimeout';

export type AttemptFailure =
  | TransportErrorCode
  | NotSentCode
  /** An internal error of the router. */
  | 'InternalError';

/** A request that was sent to one destination. Times are milliseconds of the record's clock. */
export interface Attempt {
  readonly destination: Destination;
  readonly begunAt: number;
  /** When it responded or failed; `undefined` before. */
  endedAt: number | undefined;
  /** The code that the destination responded with, which the client need not see; `undefined`: none. */
  status: number | undefined;
  failure: AttemptFailure | undefined;
}

/** True if another server was asked after one had failed, and why not. */
export type Again =
  | 'again'
  /** The request may have been carried out, or no other server would do better. */
  | 'not repeatable'
  /** As many were asked as may be. */
  | 'enough'
  | 'nobody left'
  /** The request had a body that was too large to be kept. */
  | 'body gone'
  /** Other routers may still send to the preferred version, or another version responds by now. */
  | 'too soon'
  | 'budget spent';

export interface ByteCounter {
  add(bytes: number): void;
}

/**
 * Reads the records of all requests that reach the router, whichever way they take. Metrics and the access log are observers.
 * Must not throw, and must not wait for anything: it is called on the request path.
 */
export interface RequestObserver {
  /** The target is acceptable: `requestInfo` is there. Left out for a target that is refused. */
  accepted?(record: RequestRecord): void;
  /** An attempt at a destination is over: it responded or failed. Once for each attempt; may come after `finished`. */
  attempted?(record: RequestRecord, attempt: Attempt): void;
  /** The head of the client's response: its first byte. At most once, and not where the client went away before. */
  responded?(record: RequestRecord): void;
  /**
   * The exchange is over: response sent whole, tunnel closed, or either side gone. Exactly once. On runtimes that cannot
   * tell (no `onFinished`) it comes right after `responded`.
   */
  finished?(record: RequestRecord): void;
}

/** Everything that is known of one request. Times are milliseconds of a clock that only rises. */
export class RequestRecord {
  /** Once a response has begun, of its header lines only `user-agent` is left. */
  readonly inbound: InboundRequest;
  readonly begunAt: number;
  /** The attributes of the request; `undefined` for a target that is refused. */
  requestInfo: RequestInfo | undefined;
  /** The caller; `undefined` for credentials that are refused (401), and for health. */
  caller: Caller | undefined;
  /** The destination and the reason for it; `undefined` for health and the router's own paths. */
  decision: Decision | undefined;
  /** The reason why the router turned the request away to protect itself. */
  dropped: DropReason | undefined;
  /** The response is merged aggregated discovery, which was there (`kept`), or was merged for this request. */
  aggregatedDiscovery: 'kept' | 'merged' | undefined;
  readonly attempts: Attempt[] = [];
  /** The next step after a server had failed the request; `undefined`: none has. */
  again: Again | undefined;
  /** The code of the client's response; 0: none so far. */
  status = 0;
  respondedAt: number | undefined;
  finishedAt: number | undefined;
  /**
   * Where the bytes of the destination's response are counted while they are passed on. Kept for as long as the response
   * lasts: holds nothing of the request. Set by an observer, in `accepted`.
   */
  responseBytes: ByteCounter | undefined;
  readonly #observers: readonly RequestObserver[];
  readonly #clock: () => number;

  constructor(inbound: InboundRequest, observers: readonly RequestObserver[], clock: () => number) {
    this.inbound = inbound;
    this.#observers = observers;
    this.#clock = clock;
    this.begunAt = clock();
    inbound.onFinished?.(() => this.finished());
  }

  accepted(requestInfo: RequestInfo): void {
    this.requestInfo = requestInfo;
    for (const observer of this.#observers) observer.accepted?.(this);
  }

  turnedAway(reason: DropReason): void {
    this.dropped = reason;
  }

  /** The request is being sent to `destination`; a further call is a further try. */
  attemptBegun(destination: Destination): void {
    const begunAt = this.#clock();
    this.attempts.push({ destination, begunAt, endedAt: undefined, status: undefined, failure: undefined });
  }

  /**
   * Told once: an attempt that fails after the head of its response has ended with that head.
   * @param result the code of the response, or why there is none
   */
  attemptEnded(result: number | AttemptFailure): void {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) return;
    if (typeof result === 'number') attempt.status = result;
    else attempt.failure = result;
    if (attempt.endedAt !== undefined) return;
    attempt.endedAt = this.#clock();
    for (const observer of this.#observers) observer.attempted?.(this, attempt);
  }

  /** The first call counts: a transport that writes a head to the client itself tells so at once. */
  responded(status: number): void {
    if (this.respondedAt !== undefined || this.finishedAt !== undefined) return;
    this.status = status;
    this.respondedAt = this.#clock();
    for (const observer of this.#observers) observer.responded?.(this);
    if (this.inbound.onFinished === undefined) this.finished();
  }

  finished(): void {
    if (this.finishedAt !== undefined) return;
    this.finishedAt = this.#clock();
    for (const observer of this.#observers) observer.finished?.(this);
  }
}

import type { RawHeaders } from '../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Decision } from '../routing/decision.ts';
import type { Destination, TransportErrorCode } from './destination.ts';
import type { Caller } from './user-info.ts';

export type DropReason =
  /** Too many requests in flight (429). */
  | 'Overloaded'
  /** The only server that could respond was lost and is not ready yet, or a write waits for one of its version (503). */
  | 'ServerNotReady'
  /** Only servers of older versions are left than the preferred one, and `--preferred-version-required` (503). */
  | 'PreferredVersionUnavailable'
  /** It took longer than `--request-timeout` (503 for a read, 504 for a write, or a reset when the response had begun). */
  | 'RequestTimeout';

export type AttemptFailure =
  | TransportErrorCode
  /** The caller's identity does not fit into the assertion for this destination: nothing was sent. */
  | 'AssertionTooLarge'
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

interface RecordedRequest {
  readonly method: string;
  /** Path and query, undecoded. */
  readonly target: string;
  /** Once a response has begun, only what observers read at its end: `user-agent`. */
  readonly headers: RawHeaders;
  readonly connection: { readonly remoteAddress?: string | undefined };
  readonly otherVersion?: { readonly isOlder: boolean } | undefined;
  auditId?: string | undefined;
  onFinished?(listener: () => void): void;
}

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

/** What is known of one request. Times are milliseconds of a clock that only rises. */
export class RequestRecord {
  readonly inbound: RecordedRequest;
  readonly begunAt: number;
  /** What it asks for; `undefined` for a target that is refused. */
  requestInfo: RequestInfo | undefined;
  /** Who calls; `undefined` for credentials that are refused (401), and for health. */
  caller: Caller | undefined;
  /** Where it goes and why; `undefined` for health and the router's own paths. */
  decision: Decision | undefined;
  /** Why the router turned it away to protect itself. */
  dropped: DropReason | undefined;
  /** The response is merged aggregated discovery, which was there (`kept`), or was merged for this request. */
  aggregatedDiscovery: 'kept' | 'merged' | undefined;
  readonly attempts: Attempt[] = [];
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

  constructor(inbound: RecordedRequest, observers: readonly RequestObserver[], clock: () => number) {
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

  /** The response is merged aggregated discovery. @param wasMade it was there; else it was merged for this request */
  mergedDiscovery(wasMade: boolean): void {
    this.aggregatedDiscovery = wasMade ? 'kept' : 'merged';
  }

  /** It is being sent to `destination`; a further call is a further try. */
  attemptBegun(destination: Destination): void {
    const begunAt = this.#clock();
    this.attempts.push({
      destination,
      begunAt,
      endedAt: undefined,
      status: undefined,
      failure: undefined,
    });
  }

  attemptResponded(status: number): void {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) return;
    attempt.status = status;
    this.#attemptEnded(attempt);
  }

  attemptFailed(failure: AttemptFailure): void {
    const attempt = this.attempts.at(-1);
    if (attempt === undefined) return;
    attempt.failure = failure;
    this.#attemptEnded(attempt);
  }

  /** Told once: an attempt that fails after the head of its response has ended with that head. */
  #attemptEnded(attempt: Attempt): void {
    if (attempt.endedAt !== undefined) return;
    attempt.endedAt = this.#clock();
    for (const observer of this.#observers) observer.attempted?.(this, attempt);
  }

  /** The first call counts: a placeholder `Response` for one that was sent directly has no code of its own. */
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

import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Decision } from '../routing/decision.ts';
import type { Destination } from './destination.ts';
import type { TransportErrorCode } from './transport-error.ts';
import type { Caller } from './user-info.ts';

/** Why a request was turned away that could have been served. */
export type DropReason =
  /** Too many requests in flight (429). */
  | 'Overloaded'
  /** The only server that could respond was restarted and is not ready yet (503). */
  | 'ServerNotReady'
  /** Only servers of older versions are left than the preferred one, and `--preferred-version-required` (503). */
  | 'PreferredVersionUnavailable'
  /** It took longer than `--request-timeout` (503 for a read, 504 for a write, or a reset when the response had begun). */
  | 'RequestTimeout';

/** Why an attempt at a destination did not respond. */
export type AttemptFailure =
  | TransportErrorCode
  /** The caller's identity does not fit into the assertion for this destination: nothing was sent. */
  | 'AssertionTooLarge'
  /** An internal error of the router. */
  | 'InternalError';

/**
 * The moments of one request's life, in the order in which they come; each is left out where it does not happen.
 * The observer keeps its own clock: a call is made at the moment that it names.
 */
export interface RequestObservation {
  /** The target is acceptable, and this is what it asks for. Left out for a target that is refused. */
  accepted?(requestInfo: RequestInfo): void;
  /** Who calls. Left out for credentials that are refused (401). */
  identified?(caller: Caller): void;
  /** Where it goes and why. Left out for health and the router's own paths. */
  decided?(decision: Decision): void;
  /** The router rejects it to protect itself; `responded` follows unless the response had begun. */
  dropped?(reason: DropReason): void;
  /**
   * It goes to a server of another version than the preferred one, of which none can be asked. Called before the attempt.
   * @param isOlder the version may lose what the preferred one knows
   */
  otherVersionAsked?(isOlder: boolean): void;
  /** It is being sent to `destination`; a second call is the second try. */
  attemptBegun?(destination: Destination): void;
  /** The destination of the last `attemptBegun` responded with this code, which the client need not see. */
  attemptResponded?(status: number): void;
  /**
   * Where the bytes of the destination's response are counted while they are passed on; asked once its head is. Kept for
   * as long as the response lasts: must hold nothing of the request. Left out on runtimes that see no bytes pass.
   */
  responseBytes?(): ByteCounter | undefined;
  /** The response is merged aggregated discovery. @param wasMade it was there; else it was merged for this request */
  aggregatedDiscovery?(wasMade: boolean): void;
  /** The destination of the last `attemptBegun` did not respond. */
  attemptFailed?(failure: AttemptFailure): void;
  /** The head of the client's response: its first byte. Exactly once, unless the client went away before. */
  responded?(status: number): void;
  /**
   * The exchange is over: response sent whole, tunnel closed, or either side gone. Exactly once, and last. On
   * runtimes that cannot tell (no `InboundRequest.onFinished`) it comes right after `responded`.
   */
  finished?(): void;
}

/** Counts bytes as they pass, a chunk at a time. */
export interface ByteCounter {
  add(bytes: number): void;
}

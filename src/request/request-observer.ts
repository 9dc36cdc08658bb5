import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { Decision } from '../routing/decision.ts';
import type { Destination } from './destination.ts';
import type { InboundRequest } from './inbound.ts';
import type { AttemptFailure, ByteCounter, DropReason, RequestObservation } from './request-observation.ts';
import type { Caller } from './user-info.ts';

/**
 * Told of every request that reaches the router, whichever way it takes: fetch handler or upgrade, served by a
 * destination, from merged documents, by the router's own paths, or refused. Metrics and the access log
 * are observers. Must not throw, and must not wait for anything: it is called on the request path.
 */
export interface RequestObserver {
  /**
   * A request has come in, before anything of it has been looked at.
   * @returns the observer of this request; `undefined` to skip it (not sampled).
   */
  begin(inbound: InboundRequest): RequestObservation | undefined;
}

/**
 * Passes each event of one request on to all its observers. An event that happens once is passed on once, even when
 * two places report it. Kept in `InboundRequest.observed`; a request without observers has none and costs one check.
 */
export class ObservedRequest implements Required<RequestObservation> {
  readonly #observations: readonly RequestObservation[];
  readonly #canTellTheEnd: boolean;
  #hasResponded = false;
  #isFinished = false;

  /** @param canTellTheEnd whether `finished` will be called by the runtime; else it follows `responded`. */
  constructor(observations: readonly RequestObservation[], canTellTheEnd: boolean) {
    this.#observations = observations;
    this.#canTellTheEnd = canTellTheEnd;
  }

  accepted(requestInfo: RequestInfo): void {
    for (const observation of this.#observations) observation.accepted?.(requestInfo);
  }

  identified(caller: Caller): void {
    for (const observation of this.#observations) observation.identified?.(caller);
  }

  decided(decision: Decision): void {
    for (const observation of this.#observations) observation.decided?.(decision);
  }

  dropped(reason: DropReason): void {
    for (const observation of this.#observations) observation.dropped?.(reason);
  }

  otherVersionAsked(isOlder: boolean): void {
    for (const observation of this.#observations) observation.otherVersionAsked?.(isOlder);
  }

  attemptBegun(destination: Destination): void {
    for (const observation of this.#observations) observation.attemptBegun?.(destination);
  }

  attemptResponded(status: number): void {
    for (const observation of this.#observations) observation.attemptResponded?.(status);
  }

  /** One observer counts for all of them. */
  responseBytes(): ByteCounter | undefined {
    let counter: ByteCounter | undefined;
    for (const observation of this.#observations) counter ??= observation.responseBytes?.();
    return counter;
  }

  aggregatedDiscovery(wasMade: boolean): void {
    for (const observation of this.#observations) observation.aggregatedDiscovery?.(wasMade);
  }

  attemptFailed(failure: AttemptFailure): void {
    for (const observation of this.#observations) observation.attemptFailed?.(failure);
  }

  /** The first call counts: a placeholder `Response` for one that was sent directly has no code of its own. */
  responded(status: number): void {
    if (this.#hasResponded || this.#isFinished) return;
    this.#hasResponded = true;
    for (const observation of this.#observations) observation.responded?.(status);
    if (!this.#canTellTheEnd) this.finished();
  }

  finished(): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    for (const observation of this.#observations) observation.finished?.();
  }
}

/** Tells the observers of a new request; `undefined` when none of them wants to know more. */
export function observeRequest(
  observers: readonly RequestObserver[],
  inbound: InboundRequest,
): ObservedRequest | undefined {
  if (observers.length === 0) return undefined;
  const observations: RequestObservation[] = [];
  for (const observer of observers) {
    const observation = observer.begin(inbound);
    if (observation !== undefined) observations.push(observation);
  }
  if (observations.length === 0) return undefined;
  const observed = new ObservedRequest(observations, inbound.onFinished !== undefined);
  inbound.onFinished?.(() => observed.finished());
  return observed;
}

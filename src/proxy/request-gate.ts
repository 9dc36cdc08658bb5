import type { RequestInfo } from '../apimachinery/request-info.ts';
import { retryAfterSeconds, statusResponse } from '../apimachinery/status.ts';
import { isLongRunning } from '../apimachinery/subresources.ts';
import { type Outcome, ownResponse } from '../request/transport.ts';
import type { AdmittedRequest } from './admitted-request.ts';

/** Part of each limit that callers without a verified certificate leave free: nodes and controllers have to work beside them. */
const keptForIdentified = 1 / 4;

/** Super-users always get a response: they are who mends an overloaded cluster (maxinflight.go says the same). */
const exemptGroup = 'system:masters';

/**
 * Turns requests away for the router's own sake: too many are in flight. Stands at the head of `Router.deliver`. Health checks
 * and the router's own paths never get there: they have to work just then.
 */
export class RequestGate {
  readonly #limits: InFlightLimits;
  readonly #counts: Record<RequestKind, number> = { readOnly: 0, mutating: 0, longRunning: 0 };
  /** Requests of callers whom the router has not authenticated: with a token of whatever worth, or without one. */
  readonly #unidentified: Record<RequestKind, number> = { readOnly: 0, mutating: 0, longRunning: 0 };

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  count(kind: RequestKind): number {
    return this.#counts[kind];
  }

  /**
   * Counts a request in and delivers it; responds with 429 in its place when it is turned away. It counts until the response is
   * whole: what a client does not take of it is memory, and holds no place of others (kube-apiserver's handler returns then, too).
   * Where that cannot be told, it counts until `deliver` has responded.
   */
  pass(
    { inbound, requestInfo, caller }: Omit<AdmittedRequest, 'view'>,
    deliver: () => Promise<Outcome>,
  ): Promise<Outcome> {
    const kind = requestKindOf(requestInfo);
    const isIdentified = caller.kind === 'authenticated';
    const isExempt = isIdentified && caller.user.groups.includes(exemptGroup);
    if (!isExempt && this.#isFull(kind, isIdentified)) {
      inbound.record?.turnedAway('Overloaded');
      const text = 'Too many requests, please try again later.';
      return Promise.resolve(ownResponse(statusResponse('TooManyRequests', text, { retryAfterSeconds })));
    }
    this.#add(kind, isIdentified, 1);
    const leave = () => this.#add(kind, isIdentified, -1);
    const whenWhole = inbound.onWhole ?? inbound.onFinished;
    if (whenWhole === undefined) return deliver().finally(leave);
    whenWhole.call(inbound, leave);
    return deliver();
  }

  #isFull(kind: RequestKind, isIdentified: boolean): boolean {
    const limit = this.#limits[kind];
    if (limit === 0) return false;
    const kept = Math.floor(limit * keptForIdentified);
    return this.#counts[kind] >= limit || (!isIdentified && this.#unidentified[kind] >= limit - kept);
  }

  #add(kind: RequestKind, isIdentified: boolean, requests: number): void {
    this.#counts[kind] += requests;
    if (!isIdentified) this.#unidentified[kind] += requests;
  }
}

/** As kube-apiserver's `request_kind` label has it, and what it does not count: requests without an end. */
export type RequestKind = 'readOnly' | 'mutating' | 'longRunning';

/** `get`, `list` and `watch` as kube-apiserver; and the methods that RFC 9110 section 9.2.1 calls safe. */
const readOnlyVerbs: ReadonlySet<string> = new Set(['get', 'list', 'watch', 'head', 'options']);

/** k8s.io/apiserver pkg/server/filters/maxinflight.go. */
export function requestKindOf(requestInfo: RequestInfo): RequestKind {
  if (isLongRunning(requestInfo)) return 'longRunning';
  return readOnlyVerbs.has(requestInfo.verb) ? 'readOnly' : 'mutating';
}

export type InFlightLimits = Readonly<Record<RequestKind, number>>;

import { isLongRunning } from '../apimachinery/long-running.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { AdmittedRequest, Router, Send } from '../request/router.ts';
import { type Outcome, ownResponse } from '../request/transport.ts';

/** Seconds, as kube-apiserver has it (pkg/server/filters/maxinflight.go). */
const retryAfterSeconds = 1;

/** Super-users always get a response: they are who mends an overloaded cluster (maxinflight.go says the same). */
const exemptGroup = 'system:masters';

/**
 * Turns requests away for the router's own sake: too many are in flight. Stands at the head of `Router.deliver`. Health checks
 * and the router's own paths never get there: they have to work just then.
 */
export class RequestGate {
  readonly #limits: InFlightLimits;
  readonly #counts: Record<RequestKind, number> = { readOnly: 0, mutating: 0, longRunning: 0 };

  constructor(limits: InFlightLimits) {
    this.#limits = limits;
  }

  count(kind: RequestKind): number {
    return this.#counts[kind];
  }

  /**
   * Counts a request in and delivers it; responds with 429 in its place when it is turned away. It counts until its exchange
   * is over; where that cannot be told (no `InboundRequest.onFinished`), until `deliver` has responded.
   */
  pass(request: AdmittedRequest, send: Send, deliver: Router['deliver']): Promise<Outcome> {
    const { inbound, requestInfo, caller } = request;
    const kind = requestKindOf(requestInfo);
    const counts = this.#counts;
    const limit = this.#limits[kind];
    const isFull = limit > 0 && counts[kind] >= limit;
    if (isFull && !(caller.kind === 'authenticated' && caller.user.groups.includes(exemptGroup))) {
      inbound.record?.turnedAway('Overloaded');
      const text = 'Too many requests, please try again later.';
      const refusal = statusResponse('TooManyRequests', text, { retryAfterSeconds });
      return Promise.resolve(ownResponse(refusal));
    }
    counts[kind] += 1;
    const leave = () => {
      counts[kind] -= 1;
    };
    if (inbound.onFinished === undefined) return deliver(request, send).finally(leave);
    inbound.onFinished(leave);
    return deliver(request, send);
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

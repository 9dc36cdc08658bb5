import { isLongRunning } from '../apimachinery/long-running.ts';
import type { RequestInfo } from '../apimachinery/request-info.ts';
import { statusResponse } from '../apimachinery/status.ts';
import type { AdmittedRequest } from '../request/router.ts';
import { type Outcome, ownResponse } from '../request/transport.ts';
import type { Caller } from '../request/user-info.ts';

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
   * Counts a request in and calls `serve`; responds with 429 in its place when it is turned away. It counts until its
   * exchange is over; on runtimes that cannot tell (no `InboundRequest.onFinished`), until `serve` has responded.
   */
  pass({ inbound, requestInfo, caller }: AdmittedRequest, serve: () => Promise<Outcome>): Promise<Outcome> {
    const leave = this.enter(requestKindOf(requestInfo), isExempt(caller));
    if (leave === undefined) {
      inbound.record?.turnedAway('Overloaded');
      const text = 'Too many requests, please try again later.';
      const refusal = statusResponse('TooManyRequests', text, { retryAfterSeconds });
      return Promise.resolve(ownResponse(refusal));
    }
    if (inbound.onFinished === undefined) return serve().finally(leave);
    inbound.onFinished(leave);
    return serve();
  }

  /**
   * @param exempt counted, but never turned away
   * @returns what counts it out again, to be called exactly once; `undefined`: it was turned away
   */
  enter(kind: RequestKind, exempt: boolean): (() => void) | undefined {
    const limit = this.#limits[kind];
    if (limit > 0 && !exempt && this.#counts[kind] >= limit) return undefined;
    this.#counts[kind] += 1;
    return () => {
      this.#counts[kind] -= 1;
    };
  }
}

function isExempt(caller: Caller): boolean {
  return caller.kind === 'authenticated' && caller.user.groups.includes(exemptGroup);
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

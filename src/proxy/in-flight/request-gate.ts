import { statusResponse } from '../../apimachinery/status.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { Caller } from '../../request/user-info.ts';
import {
  type InFlightLimits,
  type InFlightReading,
  RequestsInFlight,
  requestKindOf,
} from './requests-in-flight.ts';

/** Seconds, as kube-apiserver names them (pkg/server/filters/maxinflight.go and with_retry_after.go). */
const overloadedRetryAfter = 1;
const shuttingDownRetryAfter = 5;

/** Super-users always get a response: they are who mends an overloaded cluster (maxinflight.go says the same). */
const exemptGroup = 'system:masters';

/**
 * Where requests are turned away for the router's own sake: too many in flight, or a shutdown under way. Stands
 * at the head of `Router.deliver`, which fetch handler, upgrades and every other way share. Health checks and
 * the router's own paths never get there: they have to work just then.
 */
export class RequestGate {
  readonly #inFlight: RequestsInFlight;
  #refusing = false;

  constructor(limits: InFlightLimits) {
    this.#inFlight = new RequestsInFlight(limits);
  }

  /** For metrics and for draining. */
  get inFlight(): InFlightReading {
    return this.#inFlight;
  }

  /** For requests from now on: what is in flight beyond a lower limit goes on. */
  setLimits(limits: InFlightLimits): void {
    this.#inFlight.setLimits(limits);
  }

  /** From now on every new request is sent elsewhere (`--shutdown-send-retry-after`). */
  refuseNewRequests(): void {
    this.#refusing = true;
  }

  /**
   * Counts a request in and calls `serve`; responds with 429 in its place when it is turned away. It counts until its
   * exchange is over; on runtimes that cannot tell (no `InboundRequest.onFinished`), until `serve` has responded.
   */
  pass<Result>(
    { inbound, requestInfo, caller }: AdmittedRequest,
    serve: () => Promise<Result>,
  ): Promise<Result | Response> {
    if (this.#refusing) {
      inbound.observed?.dropped('ShuttingDown');
      return Promise.resolve(shuttingDown());
    }
    const leave = this.#inFlight.enter(requestKindOf(requestInfo), isExempt(caller));
    if (leave === undefined) {
      inbound.observed?.dropped('Overloaded');
      return Promise.resolve(overloaded());
    }
    if (inbound.onFinished === undefined) return serve().finally(leave);
    inbound.onFinished(leave);
    return serve();
  }
}

function isExempt(caller: Caller): boolean {
  return caller.kind === 'authenticated' && caller.user.groups.includes(exemptGroup);
}

function overloaded(): Response {
  return statusResponse('TooManyRequests', 'Too many requests, please try again later.', {
    retryAfterSeconds: overloadedRetryAfter,
  });
}

function shuttingDown(): Response {
  return statusResponse('TooManyRequests', 'The router is shutting down, please try again later.', {
    retryAfterSeconds: shuttingDownRetryAfter,
  });
}

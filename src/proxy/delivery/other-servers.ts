import { firstHeader } from '../../apimachinery/raw-headers.ts';
import type { RequestInfo } from '../../apimachinery/request-info.ts';
import { statusResponse } from '../../apimachinery/status.ts';
import type { TransportError } from '../../request/destination.ts';
import { announcesBody, type InboundRequest, isRead } from '../../request/inbound.ts';
import type { AdmittedRequest } from '../../request/router.ts';
import type { Refusal } from '../../request/transport.ts';
import { isServedBySnapshot } from './judge-response.ts';
import { retryAfterSeconds } from './undelivered.ts';

export interface NoResponse {
  readonly kind: 'no response';
  readonly error: TransportError;
}

/** What came back from a server that another one may make good. */
export type Failed = Refusal | NoResponse;

export interface OthersToAsk {
  /** How many others, at most. 0: what came back is the end. */
  readonly atMost: number;
  /** Each is withdrawn from the budget of second tries: a struggling cluster must not get double load. */
  readonly isFromBudget: boolean;
  /** A server that is down has no word in it. */
  readonly onlyHealthy: boolean;
}

const nobody: OthersToAsk = { atMost: 0, isFromBudget: false, onlyHealthy: false };
/** The first server had nothing to do: nothing was carried out, of a write neither. */
const anotherOne: OthersToAsk = { atMost: 1, isFromBudget: false, onlyHealthy: false };
const anotherFromBudget: OthersToAsk = { atMost: 1, isFromBudget: true, onlyHealthy: false };
/** What they deny, too, is believed. */
const someHealthyOnes: OthersToAsk = { atMost: 3, isFromBudget: false, onlyHealthy: true };

/**
 * What came back × was it processed × method and body. In each case the body must be there to be sent again
 * (`canBeSentAgain`).
 *
 * - The server ends, or is down behind its router: another one, writes too.
 * - It does not serve what the snapshot says it serves: another one, writes too.
 * - It does not serve what is the same for all servers (a custom resource, an aggregated API, what nobody is known to serve):
 *   up to three others. It may have been started just now, or another one may know a new definition before it.
 * - It did not respond, and provably did not process the request: another one, writes too, within the budget.
 * - It did not respond, and may have processed the request: another one for a read without a body, within the budget. A write
 *   is never sent twice (RFC 9110 section 9.2.2).
 */
export function othersToAsk(request: AdmittedRequest, failed: Failed): OthersToAsk {
  if (failed.kind === 'no response') {
    return maySafelyTryAnother(request, failed.error) ? anotherFromBudget : nobody;
  }
  if (failed.reason === 'Unavailable' || isServedBySnapshot(request.decision)) return anotherOne;
  return someHealthyOnes;
}

interface RepeatableRequest {
  readonly inbound: Pick<InboundRequest, 'method' | 'headers'>;
  readonly requestInfo: Pick<RequestInfo, 'subresource'>;
}

export function maySafelyTryAnother(request: RepeatableRequest, error: TransportError): boolean {
  // A head that is too large for one server may end the connections of the next, too.
  if (error.code === 'ClientGone' || error.code === 'RequestHeaderFieldsTooLarge') return false;
  if (!error.mayHaveBeenProcessed) return true;
  const { inbound } = request;
  return isRead(inbound.method) && !announcesBody(inbound) && !mayRunCommand(request);
}

/** Connected to with GET over WebSockets: the command would run twice (pkg/registry/core/pod/rest/subresources.go). */
const connecting: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward']);

/** Behind the subresource `proxy` of a node is its kubelet, with an exec of its own. */
function mayRunCommand({ inbound, requestInfo: { subresource } }: RepeatableRequest): boolean {
  if (connecting.has(subresource)) return true;
  return subresource === 'proxy' && firstHeader(inbound.headers, 'upgrade') !== undefined;
}

/**
 * Never names an address. Retry-After only where asking again is safe: client-go repeats every request that gets 5xx and
 * Retry-After, writes included (k8s.io/client-go rest/with_retry.go).
 */
export function noResponse(request: AdmittedRequest, error: TransportError): Response {
  if (error.code === 'RequestHeaderFieldsTooLarge') {
    return statusResponse(
      error.code,
      'the header of this request is larger than the API server that serves this resource takes, please send less of it',
    );
  }
  // RFC 9110 section 15.6.3: there was a response, and it cannot be used.
  const isInvalid = error.code === 'InvalidResponse';
  const message = isInvalid
    ? 'the API server that serves this resource gave a response that is not valid HTTP, or larger than a router takes; the request may have been carried out'
    : error.mayHaveBeenProcessed
      ? 'the API server that serves this resource did not respond; the request may have been carried out'
      : 'the API server that serves this resource could not be reached, or did not process the request; the request was not carried out';
  const isSafe = maySafelyTryAnother(request, error);
  return statusResponse(isInvalid ? 'BadGateway' : 'ServiceUnavailable', message, {
    ...(isSafe ? { retryAfterSeconds } : {}),
    causes: [
      {
        reason: error.code,
        message: isInvalid ? 'an invalid response of the destination' : 'no response from the destination',
      },
    ],
  });
}

/** Share of requests that may be tried a second time; a struggling cluster must not get double load. */
const share = 0.2;
const reserve = 10;

export class RetryBudget {
  #tokens = reserve;

  get left(): number {
    return this.#tokens;
  }

  deposit(): void {
    this.#tokens = Math.min(reserve, this.#tokens + share);
  }

  withdraw(): boolean {
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}

/** Milliseconds. A server knows a new CustomResourceDefinition within one second of the first. */
const believedFor = 1_000;
/** What is remembered at a time: clients can ask for any number of resources that do not exist. */
const maximumRemembered = 1_000;

/**
 * What several servers said a moment ago that they do not serve. It is believed until then, so that resources that exist
 * nowhere, for which controllers ask again and again, do not cost each server every request.
 */
export class ServedNowhere {
  readonly #clock: () => number;
  readonly #knowledge: () => unknown;
  readonly #until = new Map<string, number>();
  #knownAs: unknown;

  /**
   * @param clock milliseconds of a clock that only rises
   * @param knowledge the snapshot in use: with another one nothing is believed any more
   */
  constructor(clock: () => number, knowledge: () => unknown) {
    this.#clock = clock;
    this.#knowledge = knowledge;
  }

  has(requestInfo: RequestInfo): boolean {
    if (this.#until.size === 0) return false;
    this.#forget();
    return (this.#until.get(keyOf(requestInfo)) ?? Number.NEGATIVE_INFINITY) > this.#clock();
  }

  add(requestInfo: RequestInfo): void {
    this.#forget();
    const key = keyOf(requestInfo);
    this.#until.delete(key);
    this.#until.set(key, this.#clock() + believedFor);
    const [oldest] = this.#until.keys();
    if (this.#until.size > maximumRemembered && oldest !== undefined) this.#until.delete(oldest);
  }

  #forget(): void {
    const knowledge = this.#knowledge();
    if (knowledge !== this.#knownAs) this.#until.clear();
    this.#knownAs = knowledge;
  }
}

function keyOf({
  isResourceRequest,
  apiGroup,
  apiVersion,
  resource,
  subresource,
  path,
}: RequestInfo): string {
  return isResourceRequest ? `${apiGroup} ${apiVersion} ${resource} ${subresource}` : path;
}

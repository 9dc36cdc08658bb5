import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { TransportError } from '../request/destination.ts';
import type { Refusal } from '../request/transport.ts';

export interface NoResponse {
  readonly kind: 'no response';
  readonly error: TransportError;
}

/** What came back from a server that another one may make good. */
export type Failed = Refusal | NoResponse;

/** Share of requests that may be tried a second time; a struggling cluster must not get double load. */
const share = 0.2;
const reserve = 10;

export class RetryBudget {
  left = reserve;

  deposit(): void {
    this.left = Math.min(reserve, this.left + share);
  }

  withdraw(): boolean {
    if (this.left < 1) return false;
    this.left -= 1;
    return true;
  }
}

/** Milliseconds. A server knows a new CustomResourceDefinition within one second of the first. */
const believedFor = 1_000;
/** What is remembered at a time: clients can ask for any number of resources that do not exist. */
const maximumRemembered = 1_000;
/** Characters: a client's path may have tens of thousands. */
const longestRemembered = 256;

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
    if (key.length > longestRemembered) return;
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

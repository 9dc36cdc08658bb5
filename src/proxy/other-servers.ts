import type { RequestInfo } from '../apimachinery/request-info.ts';
import type { TransportError } from '../request/destination.ts';
import type { Refusal } from '../request/transport.ts';
import { BoundedMap } from '../runtime/bounded-map.ts';
import type { AdmittedRequest } from './admitted-request.ts';

export interface NoResponse {
  readonly kind: 'no response';
  readonly error: TransportError;
}

/** The failure of a server that another one may make good. */
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
/** Resources remembered at a time: clients can ask for any number of resources that do not exist. */
const maximumRemembered = 1_000;
/** Characters: a client's path may have tens of thousands. */
const longestRemembered = 256;

type AskedRequest = Pick<AdmittedRequest, 'requestInfo' | 'view'>;

/**
 * Resources of which several servers said a moment ago that they do not serve them. Their word is believed for
 * `believedFor`, so that resources that exist nowhere, for which controllers ask again and again, do not cost each
 * server every request.
 */
export class ServedNowhere {
  readonly #clock: () => number;
  readonly #until = new BoundedMap<string, number>(maximumRemembered);
  /** The snapshot by which it was said: with another one nothing is believed any more. */
  #snapshot: unknown;

  /** @param clock milliseconds of a clock that only rises */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  has(request: AskedRequest): boolean {
    if (this.#until.size === 0) return false;
    this.#forgetOlder(request);
    return (this.#until.get(keyOf(request.requestInfo)) ?? Number.NEGATIVE_INFINITY) > this.#clock();
  }

  add(request: AskedRequest): void {
    this.#forgetOlder(request);
    const key = keyOf(request.requestInfo);
    if (key.length <= longestRemembered) this.#until.set(key, this.#clock() + believedFor);
  }

  #forgetOlder({ view }: AskedRequest): void {
    const snapshot = view.snapshot?.snapshot;
    if (snapshot !== this.#snapshot) this.#until.clear();
    this.#snapshot = snapshot;
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

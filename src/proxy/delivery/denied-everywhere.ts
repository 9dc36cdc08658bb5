import type { RequestInfo } from '../../apimachinery/request-info.ts';

/** Milliseconds. A server knows a new CustomResourceDefinition within one second of the first. */
const believedFor = 1_000;
/** What is remembered at a time: clients can ask for any number of resources that do not exist. */
const maximumRemembered = 1_000;

/**
 * What several servers have denied to serve a moment ago. It is believed until then, so that resources that exist nowhere,
 * for which controllers ask again and again, do not cost each server every request.
 */
export class DeniedEverywhere {
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

/** Group, version and resource; of what names no resource, the path. */
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

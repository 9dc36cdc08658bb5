/** How much of something is borne with. */
export interface Tolerance {
  /** At once. */
  readonly burst: number;
  /** More in each second. */
  readonly perSecond: number;
}

/** Counts what an other side does too often, and forgets it with time. */
export class LeakyBucket {
  readonly #tolerance: Tolerance;
  #level = 0;
  /** When the level was worked out last: milliseconds of the monotonic clock. */
  #at = 0;

  constructor(tolerance: Tolerance) {
    this.#tolerance = tolerance;
  }

  /** Once more. @param now milliseconds of a monotonic clock @returns false when it is too much */
  add(now: number = performance.now()): boolean {
    const { burst, perSecond } = this.#tolerance;
    const leaked = ((now - this.#at) / 1_000) * perSecond;
    this.#level = Math.max(0, this.#level - leaked) + 1;
    this.#at = now;
    return this.#level <= burst;
  }
}

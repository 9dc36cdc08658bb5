/** How much of something is borne with. */
export interface Tolerance {
  /** At once. */
  readonly burst: number;
  /** More in each second. */
  readonly perSecond: number;
  /** How much of what is `earned` is kept at the most. Default: nothing can be earned. */
  readonly earnedAtMost?: number;
}

/** Counts what an other side does too often, and forgets it with time. */
export class LeakyBucket {
  readonly #tolerance: Tolerance;
  #level = 0;
  /** Uses that are there beside the bucket. */
  #earned = 0;
  /** When the level was worked out last: milliseconds of the monotonic clock. */
  #at = 0;

  constructor(tolerance: Tolerance) {
    this.#tolerance = tolerance;
  }

  /** Once more. @param now milliseconds of a monotonic clock @returns false when it is too much */
  add(now: number = performance.now()): boolean {
    if (this.#earned >= 1) {
      this.#earned--;
      return true;
    }
    const { burst } = this.#tolerance;
    const level = this.levelAt(now) + 1;
    // What goes on when it is too much already is not to be remembered for ever.
    this.#level = Math.min(level, burst + 1);
    this.#at = now;
    return level <= burst;
  }

  /** What has been added and is not forgotten yet. */
  levelAt(now: number): number {
    const leaked = ((now - this.#at) / 1_000) * this.#tolerance.perSecond;
    return Math.max(0, this.#level - leaked);
  }

  /** Something happened that may well be followed by so many more. */
  earn(uses: number): void {
    this.#earned = Math.min(this.#earned + uses, this.#tolerance.earnedAtMost ?? 0);
  }
}

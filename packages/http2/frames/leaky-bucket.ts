export interface Tolerance {
  readonly burst: number;
  readonly perSecond: number;
  /** The maximum of earned uses. Default: 0. */
  readonly earnedAtMost?: number;
}

export class LeakyBucket {
  readonly #tolerance: Tolerance;
  #level = 0;
  #earned = 0;
  #at = 0;

  constructor(tolerance: Tolerance) {
    this.#tolerance = tolerance;
  }

  /** Counts one use. @param now milliseconds of a monotonic clock @returns false if the limit is exceeded */
  add(now: number = performance.now()): boolean {
    if (this.#earned >= 1) {
      this.#earned--;
      return true;
    }
    const { burst } = this.#tolerance;
    const level = this.levelAt(now) + 1;
    // Capped, so that it recovers however long the limit was exceeded.
    this.#level = Math.min(level, burst + 1);
    this.#at = now;
    return level <= burst;
  }

  levelAt(now: number): number {
    const leaked = ((now - this.#at) / 1_000) * this.#tolerance.perSecond;
    return Math.max(0, this.#level - leaked);
  }

  earn(uses: number): void {
    this.#earned = Math.min(this.#earned + uses, this.#tolerance.earnedAtMost ?? 0);
  }
}

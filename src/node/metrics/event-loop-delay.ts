/** Milliseconds that a stop is told for. Longer than the usual 15 to 60 s between two scrapes of one Prometheus. */
const span = 60_000;

/** Milliseconds of one part of the span; of each part the longest stop is kept. */
const part = 5_000;

/**
 * The longest stop of an event loop in the last minute, as samples show it that are to be taken at a fixed interval. Reading
 * changes nothing, so that each of several scrapers sees each stop. `perf_hooks.monitorEventLoopDelay` cannot be used for
 * this: its histogram has no window, and its `reset` forgets the last sample, and with it a stop that has just begun.
 *
 * Times are milliseconds of a clock that only rises.
 */
export class EventLoopDelay {
  readonly #interval: number;
  readonly #longest = new Map<number, number>();
  #sampledAt: number;

  /** @param interval milliseconds between two samples: what is longer is a stop */
  constructor(interval: number, now: number) {
    this.#interval = interval;
    this.#sampledAt = now;
  }

  sampled(now: number): void {
    const number = Math.floor(now / part);
    this.#longest.set(number, Math.max(this.#longest.get(number) ?? 0, this.#sinceSample(now)));
    for (const old of this.#longest.keys()) if (old < number - span / part) this.#longest.delete(old);
    this.#sampledAt = now;
  }

  /** Milliseconds. A stop that no sample has seen the end of counts with what it has lasted. */
  longest(now: number): number {
    const first = Math.floor(now / part) - span / part;
    const kept = [...this.#longest].flatMap(([number, delay]) => (number >= first ? [delay] : []));
    return Math.max(this.#sinceSample(now), ...kept);
  }

  #sinceSample(now: number): number {
    return Math.max(0, now - this.#sampledAt - this.#interval);
  }
}

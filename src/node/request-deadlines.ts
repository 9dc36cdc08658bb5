/** What ends when its time is over. */
export interface Expiring {
  expire(): void;
}

/** Milliseconds between two looks, and of a bucket: a deadline is met at most twice so much late, and never early. */
const granularity = 1_000;

export interface RequestDeadlinesOptions {
  /** Milliseconds a request may take, `--request-timeout`. */
  readonly timeout: number;
  /**
   * Milliseconds of a clock that only goes forward: a wall clock that is set would end every request at once, or
   * none. Default `performance.now`.
   */
  readonly clock?: () => number;
  /** Told how many requests have just been ended. */
  readonly onExpired?: (requests: number) => void;
  /** Told why a request could not be ended; the others are. Default: nobody. */
  readonly onFailed?: (error: unknown) => void;
}

/**
 * The deadlines of all requests, in buckets of a second under one timer: no timer object for each of them, and what
 * ends together is told of together. It costs what Node's own timers cost (measured: 0.15 µs a request either way).
 * Being up to two seconds late lets an API server with the same time-out say first that it was not in time.
 */
export class RequestDeadlines {
  #ticks: number;
  readonly #clock: () => number;
  readonly #onExpired: (requests: number) => void;
  readonly #onFailed: (error: unknown) => void;
  /** By the tick at which they are over. Oldest first, for the time-out is the same for all of one map. */
  #buckets = new Map<number, Set<Expiring>>();
  /** Of requests that began under another time-out, which still is theirs. */
  #earlier: Map<number, Set<Expiring>>[] = [];
  readonly #timer: NodeJS.Timeout;
  #expired = 0;

  constructor(options: RequestDeadlinesOptions) {
    const { timeout, clock = () => performance.now(), onExpired = () => {}, onFailed = () => {} } = options;
    this.#ticks = ticksOf(timeout);
    this.#clock = clock;
    this.#onExpired = onExpired;
    this.#onFailed = onFailed;
    // Alone, it does not keep the process from ending.
    this.#timer = setInterval(() => this.look(), granularity).unref();
  }

  /** Requests that have been ended since the start. */
  get expired(): number {
    return this.#expired;
  }

  /** For requests from now on; those in flight keep the time they were given. @param timeout milliseconds */
  setTimeout(timeout: number): void {
    const ticks = ticksOf(timeout);
    if (ticks === this.#ticks) return;
    this.#ticks = ticks;
    this.#earlier.push(this.#buckets);
    this.#buckets = new Map();
  }

  /** @returns what the request is to be taken out of when it is over. */
  add(request: Expiring): Set<Expiring> {
    const tick = Math.floor(this.#clock() / granularity) + this.#ticks;
    let bucket = this.#buckets.get(tick);
    if (bucket === undefined) {
      bucket = new Set();
      this.#buckets.set(tick, bucket);
    }
    bucket.add(request);
    return bucket;
  }

  /** Ends what is over by now; the timer calls it. */
  look(): void {
    const now = Math.floor(this.#clock() / granularity);
    let requests = this.#endThoseOver(this.#buckets, now);
    for (const buckets of this.#earlier) requests += this.#endThoseOver(buckets, now);
    this.#earlier = this.#earlier.filter(({ size }) => size > 0);
    if (requests === 0) return;
    this.#expired += requests;
    this.#onExpired(requests);
  }

  /** @returns how many there were. */
  #endThoseOver(buckets: Map<number, Set<Expiring>>, now: number): number {
    let requests = 0;
    for (const [tick, bucket] of buckets) {
      if (tick > now) break;
      buckets.delete(tick);
      requests += bucket.size;
      for (const request of bucket) this.#end(request);
    }
    return requests;
  }

  /** An error that left the timer would end the process, and everybody's requests with it. */
  #end(request: Expiring): void {
    try {
      request.expire();
    } catch (error) {
      this.#onFailed(error);
    }
  }

  /** No deadline is met any more. */
  stop(): void {
    clearInterval(this.#timer);
    this.#buckets.clear();
    this.#earlier = [];
  }
}

function ticksOf(timeout: number): number {
  return Math.ceil(timeout / granularity) + 1;
}

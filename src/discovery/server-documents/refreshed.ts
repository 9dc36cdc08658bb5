/** Milliseconds that a response of a server may be old when it is given on. */
const maximumAge = 1_000;
/** Milliseconds that a request waits for a check of the servers; after that it gets the document at hand. */
const maximumWait = 5_000;

export interface RefreshedOptions {
  /** Looks at the servers. Must not reject. */
  readonly refresh: () => Promise<void>;
  /** Milliseconds of a clock that only rises. */
  readonly clock: () => number;
}

interface Running {
  readonly startedAt: number;
  /** What it sees is no older than this: its start, or the beginning of time once it is outdated. */
  readonly begunAt: number;
  readonly ended: Promise<void>;
}

/**
 * Keeps something that is made of servers' responses at most a second old. The servers are looked at only when it is
 * asked for. One look runs at a time, and all who ask meanwhile share it.
 *
 * Not for Workers, where no other request may wait for a promise than the one that made it.
 */
export class Refreshed {
  readonly #options: RefreshedOptions;
  /** When the last look that has ended began. */
  #seenAt = Number.NEGATIVE_INFINITY;
  #running: Running | undefined;
  #next: Promise<void> | undefined;

  constructor(options: RefreshedOptions) {
    this.#options = options;
  }

  /** To be called when other servers are to be looked at: the next one who asks waits for a new look. */
  outdate(): void {
    this.#seenAt = Number.NEGATIVE_INFINITY;
    if (this.#running !== undefined) this.#running = { ...this.#running, begunAt: Number.NEGATIVE_INFINITY };
  }

  /** Resolves when a look that began less than a second before the call has ended. */
  look(): Promise<void> {
    const now = this.#options.clock();
    if (now - this.#seenAt < maximumAge) return Promise.resolve();
    if (this.#running === undefined) return this.#begin();
    if (now - this.#running.begunAt < maximumAge) return this.#running.ended;
    // It may have passed a server by before that server changed.
    this.#next ??= this.#running.ended.then(() => {
      this.#next = undefined;
      return this.look();
    });
    return this.#next;
  }

  /** As `look`, for no longer than a request may wait. */
  async ready(): Promise<void> {
    const looked = this.look();
    const { clock } = this.#options;
    // When a server hangs, only the first request waits for the whole time.
    const left = maximumWait - (clock() - (this.#running?.startedAt ?? clock()));
    if (left <= 0) return;
    const { promise: over, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, left);
    try {
      await Promise.race([looked, over]);
    } finally {
      clearTimeout(timer);
    }
  }

  #begin(): Promise<void> {
    const { clock, refresh } = this.#options;
    const begunAt = clock();
    const ended = refresh().then(() => {
      // Outdated meanwhile, it has seen nothing that counts.
      this.#seenAt = this.#running?.begunAt ?? Number.NEGATIVE_INFINITY;
      this.#running = undefined;
    });
    this.#running = { startedAt: begunAt, begunAt, ended };
    return ended;
  }
}

/** How long a server that could not be reached, and is not probed, is avoided while others can be. Milliseconds. */
const avoidFor = 5_000;

/**
 * What this router itself sees of the servers it sends to: requests in flight, and which of them it could
 * not reach lately, as far as no probes tell (`ServerHealth`). Held by ID, so it outlives the routing table.
 */
export class ServerLoad {
  readonly #inFlight = new Map<string, number>();
  readonly #avoidUntil = new Map<string, number>();
  readonly #clock: () => number;

  /** @param clock milliseconds of a clock that only rises: one that is set back would avoid a server for hours. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Counts a request as in flight until the returned function is called (once; later calls do nothing). */
  begin(id: string): () => void {
    this.#inFlight.set(id, this.inFlight(id) + 1);
    let ended = false;
    return () => {
      if (ended) return;
      ended = true;
      const left = this.inFlight(id) - 1;
      if (left > 0) this.#inFlight.set(id, left);
      else this.#inFlight.delete(id);
    };
  }

  inFlight(id: string): number {
    return this.#inFlight.get(id) ?? 0;
  }

  /** The server responded, with any status code. */
  reached(id: string): void {
    this.#avoidUntil.delete(id);
  }

  /** The server could not be reached at all. */
  notReached(id: string): void {
    const now = this.#clock();
    // Servers come and go: what is over is forgotten here, where there are few.
    for (const [other, until] of this.#avoidUntil) if (until <= now) this.#avoidUntil.delete(other);
    this.#avoidUntil.set(id, now + avoidFor);
  }

  isAvoided(id: string): boolean {
    const until = this.#avoidUntil.get(id);
    if (until === undefined) return false;
    if (this.#clock() < until) return true;
    this.#avoidUntil.delete(id);
    return false;
  }
}

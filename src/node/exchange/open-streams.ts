/** Something without an end of its own that a client holds open: a watch, a log that is followed, a tunnel. */
export interface OpenStream {
  /** Ends it in good order as soon as that is possible; does nothing where there is no such way. */
  endSoon(): void;
  /** Whether it would go to another server by now. Left out: it would not. */
  readonly isMisplaced?: (() => boolean) | undefined;
  /** Ends it at once, whatever is on its way. */
  cut(): void;
}

export interface EndOptions {
  /** Milliseconds over which the ends are spread. */
  readonly over: number;
  /** In [0, 1). Default `Math.random`. */
  readonly random?: () => number;
}

/** Milliseconds between two batches of ends. */
const slice = 100;

/**
 * The streams that are open, and how they end when the router does: not all at once, for every client comes back
 * at once, and a watch that begins anew costs a list where its resourceVersion is too old.
 */
export class OpenStreams {
  readonly #streams = new Set<OpenStream>();
  /** What is ended with each slice that is still to come. `undefined`: nothing ends yet. */
  #batches: OpenStream[][] | undefined;
  #timer: NodeJS.Timeout | undefined;
  #misplacedTimer: NodeJS.Timeout | undefined;

  /** Open now. */
  get size(): number {
    return this.#streams.size;
  }

  /** Takes a stream in; one that is opened while all are being ended is ended like them. */
  opened(stream: OpenStream): void {
    this.#streams.add(stream);
    if (this.#batches === undefined) return;
    if (this.#batches.length === 0) stream.endSoon();
    else this.#batches.at(-1)?.push(stream);
  }

  closed(stream: OpenStream): void {
    this.#streams.delete(stream);
  }

  /** Ends them in good order, each at a random moment within `over`. */
  end({ over, random = Math.random }: EndOptions): void {
    if (this.#batches !== undefined) return;
    const batches: OpenStream[][] = Array.from({ length: Math.floor(over / slice) }, () => []);
    this.#batches = batches;
    for (const stream of [...this.#streams]) {
      const batch = batches[Math.floor(random() * batches.length)];
      if (batch === undefined) stream.endSoon();
      else batch.push(stream);
    }
    if (batches.length > 0) this.#timer = setInterval(() => this.#endNextBatch(), slice);
  }

  /**
   * Ends in good order those that would go to another server by now, each at a random moment within `over`; one that is
   * back in its place by then stays. A call takes the place of what is left of the one before.
   */
  endMisplaced({ over, random = Math.random }: EndOptions): void {
    clearInterval(this.#misplacedTimer);
    const batches: OpenStream[][] = Array.from({ length: Math.max(1, Math.floor(over / slice)) }, () => []);
    let found = 0;
    for (const stream of this.#streams) {
      if (stream.isMisplaced?.() !== true) continue;
      batches[Math.floor(random() * batches.length)]?.push(stream);
      found++;
    }
    if (found === 0) return;
    this.#misplacedTimer = setInterval(() => {
      const batch = batches.shift() ?? [];
      if (batches.length === 0) clearInterval(this.#misplacedTimer);
      for (const stream of batch) {
        if (this.#streams.has(stream) && stream.isMisplaced?.() === true) stream.endSoon();
      }
    }, slice);
    this.#misplacedTimer.unref();
  }

  /** Ends at once whatever is still open. */
  cut(): void {
    clearInterval(this.#timer);
    clearInterval(this.#misplacedTimer);
    this.#batches = [];
    for (const stream of [...this.#streams]) stream.cut();
  }

  #endNextBatch(): void {
    const batch = this.#batches?.shift() ?? [];
    if (this.#batches?.length === 0) clearInterval(this.#timer);
    for (const stream of batch) if (this.#streams.has(stream)) stream.endSoon();
  }
}

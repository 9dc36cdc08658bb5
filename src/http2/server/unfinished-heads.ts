/** A connection with an incomplete header block or frame. */
export interface UnfinishedHead {
  /** Ends the connection. */
  giveUp(reason: string): void;
}

export interface UnfinishedHeadsOptions {
  /** For all of them together. */
  readonly maximumBytes: number;
  /** Milliseconds from the first byte of a head to its last. */
  readonly timeout: number;
}

interface Held {
  bytes: number;
  /** Milliseconds of the monotonic clock. */
  readonly since: number;
}

/** How often late heads are looked for within the time-out. */
const checksPerTimeout = 4;

/**
 * Bounds the memory of incomplete request heads on all connections together. Otherwise clients without a request could
 * take the size of a head times the number of connections (CVE-2024-27316 and others). Real heads arrive within
 * milliseconds. When the limit is reached, the connection with the oldest incomplete head ends.
 */
export class UnfinishedHeads {
  readonly #options: UnfinishedHeadsOptions;
  /** Oldest first. */
  readonly #heads = new Map<UnfinishedHead, Held>();
  #bytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: UnfinishedHeadsOptions) {
    this.#options = options;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Records the size of an incomplete head. May end connections, this one included.
   * @param isAnother whether it is a new head of this connection
   */
  hold(head: UnfinishedHead, bytes: number, isAnother: boolean): void {
    const { maximumBytes, timeout } = this.#options;
    if (isAnother) this.release(head);
    const held = this.#heads.get(head);
    if (held === undefined) this.#heads.set(head, { bytes, since: performance.now() });
    else {
      this.#bytes -= held.bytes;
      held.bytes = bytes;
    }
    this.#bytes += bytes;
    this.#timer ??= setInterval(() => this.#giveUpLate(), timeout / checksPerTimeout).unref();
    for (const oldest of this.#heads.keys()) {
      if (this.#bytes <= maximumBytes) break;
      this.#giveUp(oldest, 'too many request heads are incomplete');
    }
  }

  /** The head is complete, or its connection ended. */
  release(head: UnfinishedHead): void {
    const held = this.#heads.get(head);
    if (held === undefined) return;
    this.#heads.delete(head);
    this.#bytes -= held.bytes;
    if (this.#heads.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #giveUpLate(): void {
    const begunBefore = performance.now() - this.#options.timeout;
    for (const [head, { since }] of this.#heads) {
      if (since > begunBefore) return;
      this.#giveUp(head, 'a request head did not end in time');
    }
  }

  #giveUp(head: UnfinishedHead, reason: string): void {
    this.release(head);
    head.giveUp(reason);
  }
}

/** A connection on which the end of something is still to come: of a block of header lines, or of a frame. */
export interface UnfinishedHead {
  /** Ends the connection. @param why in words */
  giveUp(why: string): void;
}

export interface UnfinishedHeadsOptions {
  /** Bytes that all of them together may hold. */
  readonly maximumBytes: number;
  /** Milliseconds for each, from its first byte to its last. */
  readonly timeout: number;
}

interface Held {
  bytes: number;
  /** Milliseconds of the monotonic clock. */
  readonly since: number;
}

/** How often those that are late are looked for, in the time that each has. */
const looksInTime = 4;

/**
 * What is held of the heads of requests that are not whole, on all connections together. Who has asked for nothing yet
 * could otherwise make us hold as much as there are connections, times the size of a head (CVE-2024-27316 and others).
 * Heads come whole, within milliseconds; when the room is used up, the one that has been coming for the longest goes.
 */
export class UnfinishedHeads {
  readonly #options: UnfinishedHeadsOptions;
  /** The oldest first. */
  readonly #heads = new Map<UnfinishedHead, Held>();
  #bytes = 0;
  #looks: NodeJS.Timeout | undefined;

  constructor(options: UnfinishedHeadsOptions) {
    this.#options = options;
  }

  /** Bytes that are held now. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * So much is held of a head now. May give up heads, this one too.
   * @param isAnother whether it is another one than was held of this connection before
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
    this.#looks ??= setInterval(() => this.#giveUpLateOnes(), timeout / looksInTime).unref();
    for (const oldest of this.#heads.keys()) {
      if (this.#bytes <= maximumBytes) break;
      this.#giveUp(oldest, 'too many heads of requests are unfinished');
    }
  }

  /** Nothing is held of it any more. */
  release(head: UnfinishedHead): void {
    const held = this.#heads.get(head);
    if (held === undefined) return;
    this.#heads.delete(head);
    this.#bytes -= held.bytes;
    if (this.#heads.size > 0) return;
    clearInterval(this.#looks);
    this.#looks = undefined;
  }

  #giveUpLateOnes(): void {
    const begunBefore = performance.now() - this.#options.timeout;
    for (const [head, { since }] of this.#heads) {
      if (since > begunBefore) return;
      this.#giveUp(head, 'the head of a request does not end');
    }
  }

  #giveUp(head: UnfinishedHead, why: string): void {
    this.release(head);
    head.giveUp(why);
  }
}

/** What became of a nonce. */
export type Admission =
  | 'fresh'
  /** Seen before, or so old that its record may be gone. */
  | 'replayed'
  /** No room left to remember it, so it must not be believed. */
  | 'full';

/**
 * Remembers nonces until what they came with has expired. Bounded: a flood fills it, and what comes on top is
 * refused instead of remembered. Taking a nonce is one synchronous step, so that of two at once one wins.
 */
export class ReplayWindow {
  readonly #capacity: number;
  /** By the second in which they may be forgotten: forgetting is dropping whole sets. */
  readonly #byDeadline = new Map<number, Set<string>>();
  #size = 0;
  /** What was due by this second has been forgotten, whatever the clock says since. */
  #forgottenUntil = 0;

  /** @param capacity nonces; some 70 bytes each. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** Nonces that are remembered. */
  get size(): number {
    return this.#size;
  }

  /**
   * @param deadline the Unix second from which on the nonce's bearer is refused for its age.
   * @param now Unix seconds.
   */
  take(nonce: string, deadline: number, now: number): Admission {
    this.#forget(now);
    // A clock that was set back must not bring expired ones back to life.
    if (deadline <= this.#forgottenUntil) return 'replayed';
    let nonces = this.#byDeadline.get(deadline);
    if (nonces?.has(nonce)) return 'replayed';
    if (this.#size >= this.#capacity) return 'full';
    if (nonces === undefined) {
      nonces = new Set();
      this.#byDeadline.set(deadline, nonces);
    }
    nonces.add(nonce);
    this.#size++;
    return 'fresh';
  }

  #forget(now: number): void {
    if (now <= this.#forgottenUntil) return;
    this.#forgottenUntil = now;
    for (const [deadline, nonces] of this.#byDeadline) {
      if (deadline > now) continue;
      this.#byDeadline.delete(deadline);
      this.#size -= nonces.size;
    }
  }
}

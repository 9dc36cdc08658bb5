/** What became of a nonce. */
export type Admission =
  | 'fresh'
  /** Seen before, or so old that its record may be gone. */
  | 'replayed'
  /** No room left to remember it, so it must not be believed. */
  | 'full';

/** Ranges that are kept; each jump of the clock makes one more. */
const maximumRanges = 16;
/** Seconds between two deadlines that still belong to one range: no assertion lives longer. */
const joinedWithin = 120;

/**
 * A set of seconds, in few ranges. Not "everything until now": a clock that ran hours ahead for a moment would then
 * have every assertion refused until those hours have really passed.
 */
class SecondRanges {
  #ranges: { from: number; to: number }[] = [];

  has(second: number): boolean {
    return this.#ranges.some(({ from, to }) => second >= from && second <= to);
  }

  add(second: number): void {
    const near = this.#ranges.find(
      ({ from, to }) => second >= from - joinedWithin && second <= to + joinedWithin,
    );
    if (near === undefined) {
      this.#ranges.push({ from: second, to: second });
      this.#keepFew();
      return;
    }
    near.from = Math.min(near.from, second);
    near.to = Math.max(near.to, second);
  }

  /** Two ranges become one with all that lies between them: in doubt, an assertion is refused. */
  #keepFew(): void {
    if (this.#ranges.length <= maximumRanges) return;
    this.#ranges.sort((one, other) => one.from - other.from);
    const [first, second, ...rest] = this.#ranges;
    if (first === undefined || second === undefined) return;
    this.#ranges = [{ from: first.from, to: Math.max(first.to, second.to) }, ...rest];
  }
}

/**
 * Remembers nonces until what they came with has expired. Bounded: a flood fills it, and what comes on top is
 * refused instead of remembered. Taking a nonce is one synchronous step, so that of two at once one wins.
 */
export class ReplayWindow {
  readonly #capacity: number;
  /** By the second in which they may be forgotten: forgetting is dropping whole sets. */
  readonly #byDeadline = new Map<number, Set<string>>();
  #size = 0;
  /** What was due by this second has been looked at. */
  #lookedUntil = 0;
  /** The deadlines whose nonces have been forgotten; a clock set back does not revive them. */
  readonly #forgotten = new SecondRanges();

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
    if (this.#forgotten.has(deadline)) return 'replayed';
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
    if (now === this.#lookedUntil) return;
    this.#lookedUntil = now;
    for (const [deadline, nonces] of this.#byDeadline) {
      if (deadline > now) continue;
      this.#byDeadline.delete(deadline);
      this.#size -= nonces.size;
      this.#forgotten.add(deadline);
    }
  }
}

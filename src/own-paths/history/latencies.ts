/** Upper bounds are powers of two: 1 ms, 2 ms, …, and everything from 16 s on in the last. */
const bins = 16;

/** How long responses took, as a histogram of a few numbers: precise to a factor of two, however many there are. */
export class Latencies {
  readonly #counts = new Uint32Array(bins);
  #count = 0;
  #sum = 0;

  add(milliseconds: number): void {
    const bin = Math.min(bins - 1, 32 - Math.clz32(milliseconds));
    this.#counts[bin] = (this.#counts[bin] ?? 0) + 1;
    this.#count += 1;
    this.#sum += milliseconds;
  }

  addAll(other: Latencies): void {
    for (const [bin, count] of other.#counts.entries()) this.#counts[bin] = (this.#counts[bin] ?? 0) + count;
    this.#count += other.#count;
    this.#sum += other.#sum;
  }

  /** `null` when there was none. */
  mean(): number | null {
    return this.#count === 0 ? null : Math.round((this.#sum / this.#count) * 10) / 10;
  }

  /** Milliseconds that the share of all responses took at most, rounded up to a power of two; `null` when there was none. */
  quantile(share: number): number | null {
    if (this.#count === 0) return null;
    let seen = 0;
    const wanted = share * this.#count;
    for (const [bin, count] of this.#counts.entries()) {
      seen += count;
      if (seen >= wanted) return 2 ** bin;
    }
    return 2 ** (bins - 1);
  }
}

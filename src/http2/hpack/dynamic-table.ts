/** What each entry counts in addition to its bytes (RFC 7541 section 4.1). */
const entryOverhead = 32;

/** Evicted strings at which the array is compacted: as many as the largest table holds. */
const sweptFrom = 256;

/** Bytes (RFC 9113 section 6.5.2). */
export const defaultTableSize = 4_096;

/** The dynamic table of a decoder (RFC 7541 section 2.3.2). */
export class DynamicTable {
  /** Name, value, name, value, …; the newest last, evicted ones first. */
  #lines: string[] = [];
  /** Where the remaining entries begin. */
  #first = 0;
  /** Bytes, as RFC 7541 section 4.1 counts them. */
  #size = 0;
  #maximumSize = defaultTableSize;

  get length(): number {
    return (this.#lines.length - this.#first) / 2;
  }

  /** @param index from 0, which is the newest; below `length`. */
  name(index: number): string {
    return this.#lines[this.#lines.length - 2 * index - 2] as string;
  }

  /** @param index from 0, which is the newest; below `length`. */
  value(index: number): string {
    return this.#lines[this.#lines.length - 2 * index - 1] as string;
  }

  /** An entry larger than the table empties it (RFC 7541 section 4.4). */
  add(name: string, value: string): void {
    const size = name.length + value.length + entryOverhead;
    this.#shrinkTo(this.#maximumSize - size);
    if (size > this.#maximumSize) return;
    this.#lines.push(name, value);
    this.#size += size;
  }

  /** @param size bytes; the caller checks that it is allowed */
  resize(size: number): void {
    this.#maximumSize = size;
    this.#shrinkTo(size);
  }

  #shrinkTo(size: number): void {
    while (this.#size > size && this.#first < this.#lines.length) {
      const name = this.#lines[this.#first] as string;
      const value = this.#lines[this.#first + 1] as string;
      this.#size -= name.length + value.length + entryOverhead;
      // Frees the strings, which may be long.
      this.#lines[this.#first] = '';
      this.#lines[this.#first + 1] = '';
      this.#first += 2;
    }
    // Not at each eviction: a block may evict an entry with every two bytes.
    if (this.#first < sweptFrom) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}

/** What each entry counts for beside its own bytes (RFC 7541 section 4.1). */
const entryOverhead = 32;

/** Strings that are gone for which it is worth to move the others: as many as the largest table holds. */
const sweptFrom = 256;

/** Bytes of a table before anybody has said otherwise (RFC 9113 section 6.5.2). */
export const defaultTableSize = 4_096;

/** The lines that a sender refers to by number, the newest first (RFC 7541 section 2.3.2). */
export class DynamicTable {
  /** Name, value, name, value, …; the newest last, and those that are gone in front. */
  #lines: string[] = [];
  /** Where those begin that are still there. */
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

  /** One that is larger than the whole table empties it (RFC 7541 section 4.4). */
  add(name: string, value: string): void {
    const size = name.length + value.length + entryOverhead;
    this.#shrinkTo(this.#maximumSize - size);
    if (size > this.#maximumSize) return;
    this.#lines.push(name, value);
    this.#size += size;
  }

  /** @param size bytes, at most what was allowed; the caller sees to that. */
  resize(size: number): void {
    this.#maximumSize = size;
    this.#shrinkTo(size);
  }

  #shrinkTo(size: number): void {
    while (this.#size > size && this.#first < this.#lines.length) {
      const name = this.#lines[this.#first] as string;
      const value = this.#lines[this.#first + 1] as string;
      this.#size -= name.length + value.length + entryOverhead;
      // Nobody asks for them any more, and they may be long.
      this.#lines[this.#first] = '';
      this.#lines[this.#first + 1] = '';
      this.#first += 2;
    }
    // Once for many: a block may drive out an entry with every two bytes.
    if (this.#first < sweptFrom) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}

/** What each entry counts for beside its own bytes (RFC 7541 section 4.1). */
const entryOverhead = 32;

/** Bytes of a table before anybody has said otherwise (RFC 9113 section 6.5.2). */
export const defaultTableSize = 4_096;

/** The lines that a sender refers to by number, the newest first (RFC 7541 section 2.3.2). */
export class DynamicTable {
  /** Name, value, name, value, …; the newest last. */
  #lines: string[] = [];
  /** Bytes, as RFC 7541 section 4.1 counts them. */
  #size = 0;
  #maximumSize = defaultTableSize;

  get length(): number {
    return this.#lines.length / 2;
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
    let gone = 0;
    while (this.#size > size && gone < this.#lines.length) {
      const name = this.#lines[gone] as string;
      const value = this.#lines[gone + 1] as string;
      this.#size -= name.length + value.length + entryOverhead;
      gone += 2;
    }
    if (gone > 0) this.#lines = gone === this.#lines.length ? [] : this.#lines.slice(gone);
  }
}

/** Stands where no stream is: identifiers begin with 1. */
const free = 0;

/**
 * The open streams of one connection, a few hundred at most, by their identifiers.
 *
 * Not a `Map`: V8 puts the entries of one into a new table every few additions, and the old table refers to the new one
 * (`OrderedHashTable::NextTable`, for iterators under way). Once one of them has become old, the collector of young
 * objects takes the dead ones for alive, each of which keeps the next, with every stream that was in it: measured,
 * a third more CPU for each request, and pauses of 10 ms instead of 1 (docs/explanation/performance.md). Going through
 * a hundred numbers is as fast as hashing one.
 */
export class StreamTable<Stream extends { readonly id: number }> {
  readonly #identifiers: number[] = [];
  readonly #streams: (Stream | undefined)[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  get(identifier: number): Stream | undefined {
    const slot = this.#identifiers.indexOf(identifier);
    return slot === -1 ? undefined : this.#streams[slot];
  }

  /** @param stream whose identifier is not in the table */
  add(stream: Stream): void {
    this.#size++;
    const unused = this.#identifiers.indexOf(free);
    const slot = unused === -1 ? this.#identifiers.length : unused;
    this.#identifiers[slot] = stream.id;
    this.#streams[slot] = stream;
  }

  delete(identifier: number): void {
    const slot = this.#identifiers.indexOf(identifier);
    if (slot === -1) return;
    this.#identifiers[slot] = free;
    this.#streams[slot] = undefined;
    this.#size--;
  }

  /** Those that are open now, the oldest first; streams may be closed on the way. */
  all(): Stream[] {
    return this.#streams.filter((stream) => stream !== undefined).sort((one, other) => one.id - other.id);
  }
}

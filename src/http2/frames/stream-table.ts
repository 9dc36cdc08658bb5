/** Marks an unused slot: identifiers begin with 1. */
const free = 0;

/**
 * The open streams of one connection, a few hundred at most, by identifier.
 *
 * Not a `Map`: V8 copies the entries of a `Map` to a new table every few additions, and each old table refers to the next
 * (`OrderedHashTable::NextTable`, for iterators). Once one of them is in the old generation, the scavenger keeps all later
 * ones alive, with every stream that was in them. That cost a third more CPU per request and pauses of 10 ms instead of 1
 * (bench/README.md). Searching a hundred numbers is as fast as a hash.
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

  /** A copy, oldest first: streams may be closed during iteration. */
  all(): Stream[] {
    return this.#streams.filter((stream) => stream !== undefined).sort((one, other) => one.id - other.id);
  }
}

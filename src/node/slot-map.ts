/** Stands where no entry is; no key is negative. */
const free = -1;

/**
 * A `Map` by numbers from 0, for a few hundred entries at most that come and go all the time.
 *
 * V8's own puts its entries into a new table every few additions, and the old table refers to the new one
 * (`OrderedHashTable::NextTable`, for iterators under way). Once one of them has become old, the collector of young
 * objects takes the dead ones for alive, each of which keeps the next, with all that was in it: measured, a sixth of
 * everything that requests over HTTP/2 allocate, and pauses of 10 ms instead of 0.4 (docs/performance.md).
 *
 * Found by going through the keys, which for a hundred numbers is as fast as hashing them.
 */
export class SlotMap<Value> extends Map<number, Value> {
  readonly #keys: number[] = [];
  readonly #values: (Value | undefined)[] = [];
  #size = 0;

  override get size(): number {
    return this.#size;
  }

  override has(key: number): boolean {
    return this.#slotOf(key) !== -1;
  }

  override get(key: number): Value | undefined {
    const slot = this.#slotOf(key);
    return slot === -1 ? undefined : this.#values[slot];
  }

  override set(key: number, value: Value): this {
    const slot = this.#slotOf(key);
    if (slot !== -1) {
      this.#values[slot] = value;
      return this;
    }
    this.#size++;
    const unused = this.#keys.indexOf(free);
    if (unused === -1) {
      this.#keys.push(key);
      this.#values.push(value);
    } else {
      this.#keys[unused] = key;
      this.#values[unused] = value;
    }
    return this;
  }

  override delete(key: number): boolean {
    const slot = this.#slotOf(key);
    if (slot === -1) return false;
    this.#keys[slot] = free;
    this.#values[slot] = undefined;
    this.#size--;
    return true;
  }

  override clear(): void {
    this.#keys.fill(free);
    this.#values.fill(undefined);
    this.#size = 0;
  }

  /** In no order, of what is there now: unlike a `Map` it does not come upon what is added on the way. */
  override *entries(): MapIterator<[number, Value]> {
    for (const [slot, key] of [...this.#keys.entries()]) {
      // Unless it was taken out on the way.
      if (key !== free && this.#keys[slot] === key) yield [key, this.#values[slot] as Value];
    }
  }

  override *keys(): MapIterator<number> {
    for (const [key] of this.entries()) yield key;
  }

  override *values(): MapIterator<Value> {
    for (const [, value] of this.entries()) yield value;
  }

  override [Symbol.iterator](): MapIterator<[number, Value]> {
    return this.entries();
  }

  override forEach(
    callback: (value: Value, key: number, map: Map<number, Value>) => void,
    thisArgument?: unknown,
  ): void {
    for (const [key, value] of this.entries()) callback.call(thisArgument, value, key, this);
  }

  #slotOf(key: number): number {
    return key < 0 ? -1 : this.#keys.indexOf(key);
  }
}

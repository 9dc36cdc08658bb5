/** A `Set` of objects, for a few that come and go all the time; why not V8's own: `SlotMap`. */
export class SlotSet<Value extends object> extends Set<Value> {
  readonly #values: (Value | undefined)[] = [];
  #size = 0;

  override get size(): number {
    return this.#size;
  }

  override has(value: Value): boolean {
    return this.#values.includes(value);
  }

  override add(value: Value): this {
    if (this.has(value)) return this;
    this.#size++;
    const unused = this.#values.indexOf(undefined);
    if (unused === -1) this.#values.push(value);
    else this.#values[unused] = value;
    return this;
  }

  override delete(value: Value): boolean {
    const slot = this.#values.indexOf(value);
    if (slot === -1) return false;
    this.#values[slot] = undefined;
    this.#size--;
    return true;
  }

  override clear(): void {
    this.#values.fill(undefined);
    this.#size = 0;
  }

  /** In no order, of what is there now: unlike a `Set` it does not come upon what is added on the way. */
  override *values(): SetIterator<Value> {
    for (const [slot, value] of [...this.#values.entries()]) {
      // Unless it was taken out on the way.
      if (value !== undefined && this.#values[slot] === value) yield value;
    }
  }

  override keys(): SetIterator<Value> {
    return this.values();
  }

  override *entries(): SetIterator<[Value, Value]> {
    for (const value of this.values()) yield [value, value];
  }

  override [Symbol.iterator](): SetIterator<Value> {
    return this.values();
  }

  override forEach(
    callback: (value: Value, key: Value, set: Set<Value>) => void,
    thisArgument?: unknown,
  ): void {
    for (const value of this.values()) callback.call(thisArgument, value, value, this);
  }
}

/** A hash of a name to 32 bits (FNV-1a). */
function hashOf(text: string): number {
  let hash = 2166136261;
  for (let index = 0; index < text.length; index++) hash = Math.imul(hash ^ text.charCodeAt(index), 16777619);
  return hash >>> 0;
}

/** In [0, 1): the same for the same seed, name and counter, whatever else was drawn before. */
function drawn(seed: number, name: number, counter: number): number {
  let mixed = (seed ^ Math.imul(name, 0x9e3779b1) ^ Math.imul(counter + 1, 0x85ebca6b)) | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  return ((mixed ^ (mixed >>> 13)) >>> 0) / 4294967296;
}

/**
 * Chance by name (`s1/startup`): each name has a counter of its own. So an event can be taken out of a run, and no draw of
 * another name moves: what fails can be made shorter.
 */
export class Draws {
  readonly #seed: number;
  readonly #streams = new Map<string, { readonly name: number; counter: number }>();

  constructor(seed: number) {
    this.#seed = hashOf(`seed ${seed}`);
  }

  /** In [0, 1). */
  next(name: string): number {
    let stream = this.#streams.get(name);
    if (stream === undefined) {
      stream = { name: hashOf(name), counter: 0 };
      this.#streams.set(name, stream);
    }
    return drawn(this.#seed, stream.name, stream.counter++);
  }

  between(name: string, from: number, to: number): number {
    return from + (to - from) * this.next(name);
  }

  /** A whole number below `limit`. */
  below(name: string, limit: number): number {
    return Math.floor(this.next(name) * limit);
  }

  chance(name: string, probability: number): boolean {
    return this.next(name) < probability;
  }

  pick<Item>(name: string, items: readonly Item[]): Item {
    const item = items[this.below(name, items.length)];
    if (item === undefined) throw new RangeError(`nothing to pick for ${name}`);
    return item;
  }
}

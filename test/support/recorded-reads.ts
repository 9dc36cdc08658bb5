import { isDeepStrictEqual } from 'node:util';

/** Whether a value is looked into. Lists, maps, keys and the like are one value each. */
export function isSection(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}

/** Notes which values of a plain object, and of those in it, are read; each as its path, `a.b.c`. */
export class RecordedReads {
  readonly paths = new Set<string>();
  readonly #whole: ReadonlySet<string>;

  /** @param whole paths of objects that count as one value */
  constructor(whole: Iterable<string> = []) {
    this.#whole = new Set(whole);
  }

  /** The same object, with its reads noted. Who turns a part of it into JSON, to compare it, does not read it. */
  of<Value extends object>(value: Value, path = ''): Value {
    return new Proxy(value, {
      get: (target, key) => {
        if (key === 'toJSON') return () => target;
        const inside: unknown = Reflect.get(target, key);
        if (typeof key === 'symbol') return inside;
        const place = path === '' ? key : `${path}.${key}`;
        if (isSection(inside) && !this.#whole.has(place)) return this.of(inside, place);
        this.paths.add(place);
        return inside;
      },
    });
  }

  /** The paths of the values that differ. */
  differing(before: unknown, after: unknown, path = ''): readonly string[] {
    if (!this.#whole.has(path) && isSection(before) && isSection(after)) {
      const keys = new Set([...Object.keys(before), ...Object.keys(after)]);
      return [...keys].flatMap((key) =>
        this.differing(before[key], after[key], path === '' ? key : `${path}.${key}`),
      );
    }
    return isDeepStrictEqual(before, after) ? [] : [path];
  }
}

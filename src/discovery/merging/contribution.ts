import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';

/** One distinct set of groups, and the servers that serve exactly it. */
export interface DiscoverySource {
  readonly groups: readonly APIGroupDiscovery[];
  readonly storageVersionHashes?: Readonly<Record<string, string>> | undefined;
  /** The leading server first. */
  readonly serverIds: readonly string[];
  /** At least one of the servers was read this time. */
  readonly current: boolean;
  /** At least one of those has an address. */
  readonly reachable: boolean;
}

/** One source's description of one thing. */
export interface Contribution<Item> {
  readonly source: DiscoverySource;
  readonly item: Item;
}

/** What the sources say of the thing of one name; the leading source first. */
type NamedContributions<Item> = readonly [name: string, contributions: readonly Contribution<Item>[]];

/**
 * Brings together what sources say of the things of one name.
 *
 * @param lists each source's own list, the leading source first. A source that lists a name twice says two
 *   things of it, and the first leads.
 * @param nameOf the name of an item
 * @param order the order of the names; default `consensusOrder`
 */
export function byName<Item>(
  lists: readonly Contribution<readonly Item[]>[],
  nameOf: (item: Item) => string,
  order: (lists: readonly (readonly string[])[]) => readonly string[] = consensusOrder,
): NamedContributions<Item>[] {
  const all = lists.flatMap(({ source, item: list }) => list.map((item) => ({ source, item })));
  const contributions = Map.groupBy(all, ({ item }) => nameOf(item));
  const names = lists.map(({ item: list }) => list.map(nameOf));
  return order(names).map((name) => [name, contributions.get(name) ?? []]);
}

/**
 * One order for the names of several lists. Deterministic; the first list keeps its order whole.
 *
 * A name that the first list lacks goes in after the neighbour it follows in its own list. Where names
 * already stand there that its list does not know, it goes among them by name. Groups come ordered by
 * priority, resources by name; both survive, which a plain sort would not let groups do.
 *
 * @param lists the leading list first; later ones in the order of their weight
 * @returns every name once
 */
export function consensusOrder(lists: readonly (readonly string[])[]): string[] {
  const [leading = [], ...others] = lists;
  const placed = new Set(leading);
  const order = [...placed];
  for (const list of others) {
    let known: ReadonlySet<string> | undefined;
    let previous: string | undefined;
    for (const name of list) {
      if (!placed.has(name)) {
        known ??= new Set(list);
        order.splice(placeFor(name, previous, order, known), 0, name);
        placed.add(name);
      }
      previous = name;
    }
  }
  return order;
}

function placeFor(
  name: string,
  previous: string | undefined,
  order: readonly string[],
  known: ReadonlySet<string>,
): number {
  let place = previous === undefined ? 0 : order.indexOf(previous) + 1;
  for (; place < order.length; place++) {
    const next = order[place];
    if (next === undefined || known.has(next) || next > name) break;
  }
  return place;
}

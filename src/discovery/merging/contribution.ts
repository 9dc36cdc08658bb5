import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { consensusOrder } from './consensus-order.ts';

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

/** What one source says of one thing. */
export interface Contribution<Item> {
  readonly source: DiscoverySource;
  readonly item: Item;
}

/** What the sources say of the thing of one name; the leading source first. */
export type NamedContributions<Item> = readonly [name: string, contributions: readonly Contribution<Item>[]];

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

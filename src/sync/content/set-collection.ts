import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { keyOfText, servedSetText } from '../../snapshot/format/served-set-key.ts';
import { canonicalTexts } from '../../snapshot/format/shared-groups.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';

/** Collects the sets of one snapshot. Most of its servers serve the same, and each set is computed once. */
export interface SetCollection {
  /** Adds the set of a reading. @returns the key of the refined set */
  add(given: ServedSet): Promise<string>;
  /** Adds a set that needs no refining, under its key. */
  keep(key: string, set: ServedSet): void;
  /** By key, in their order. */
  sets(): Readonly<Record<string, ServedSet>>;
}

/** @param refine makes the set that is kept; must depend only on its argument */
export function createSetCollection(refine: (given: ServedSet) => ServedSet): SetCollection {
  const textOf = canonicalTexts();
  const keysByGiven = new Map<string, string>();
  const groupsByText = new Map<string, APIGroupDiscovery>();
  const sets = new Map<string, ServedSet>();

  /** One object for equal groups: that is how sets are packed and read. */
  function withSharedGroups(set: ServedSet): ServedSet {
    if (set.discovery === undefined) return set;
    const discovery = set.discovery.map((group) => {
      const text = textOf(group);
      const known = groupsByText.get(text) ?? group;
      groupsByText.set(text, known);
      return known;
    });
    return { ...set, discovery };
  }

  return {
    async add(given) {
      // Equal texts are equal sets. Equal sets with another order of members are refined twice, which costs only time.
      const text = JSON.stringify(given);
      const known = keysByGiven.get(text);
      if (known !== undefined) return known;
      const set = withSharedGroups(refine(given));
      const key = await keyOfText(servedSetText(set, textOf));
      keysByGiven.set(text, key);
      sets.set(key, set);
      return key;
    },
    keep(key, set) {
      if (!sets.has(key)) sets.set(key, withSharedGroups(set));
    },
    sets: () => Object.fromEntries([...sets].sort(([one], [other]) => (one < other ? -1 : 1))),
  };
}

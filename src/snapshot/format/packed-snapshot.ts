import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { sha256Digest } from '../../runtime/bytes.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import type { ServedSet, Snapshot } from './schema.ts';

/**
 * A snapshot as it is signed and sent. API servers of neighbouring versions describe most of their groups in the
 * same words; what several sets hold stands once, in `discoveryGroups`, and the sets name it by its place there.
 */
interface PackedSnapshot extends Omit<Snapshot, 'servedSets'> {
  readonly servedSets: Readonly<Record<string, PackedServedSet>>;
  /** Absent where no group is shared: the packed form is then the plain one. */
  readonly discoveryGroups?: readonly APIGroupDiscovery[];
}

interface PackedServedSet extends Omit<ServedSet, 'discovery'> {
  readonly discovery?: readonly (APIGroupDiscovery | number)[] | undefined;
}

/** Packs a snapshot. The same snapshot is always packed the same way. */
export function packSnapshot(snapshot: Snapshot): PackedSnapshot {
  const textOf = canonicalTexts();
  const sets = Object.entries(snapshot.servedSets).sort(([one], [other]) => (one < other ? -1 : 1));
  const uses = new Map<string, number>();
  for (const [, { discovery = [] }] of sets) {
    // A group that one set lists twice is not shared by that.
    for (const text of new Set(discovery.map(textOf))) uses.set(text, (uses.get(text) ?? 0) + 1);
  }
  const places = new Map<string, number>();
  const discoveryGroups: APIGroupDiscovery[] = [];
  const place = (group: APIGroupDiscovery): APIGroupDiscovery | number => {
    const text = textOf(group);
    if ((uses.get(text) ?? 0) < 2) return group;
    const known = places.get(text);
    if (known !== undefined) return known;
    places.set(text, discoveryGroups.length);
    return discoveryGroups.push(group) - 1;
  };
  const servedSets = Object.fromEntries(
    sets.map(([key, set]) => [
      key,
      set.discovery === undefined ? set : { ...set, discovery: set.discovery.map(place) },
    ]),
  );
  return { ...snapshot, servedSets, ...(discoveryGroups.length === 0 ? {} : { discoveryGroups }) };
}

/** `canonicalJson`, worked out once for each object. The objects must not change. */
export function canonicalTexts(): (value: object) => string {
  const texts = new Map<object, string>();
  return (value) => {
    const known = texts.get(value);
    if (known !== undefined) return known;
    const text = canonicalJson(value);
    texts.set(value, text);
    return text;
  };
}

/** A snapshot as it is signed and stored: packed, as canonical JSON, so that the same snapshot is the same text. */
export function snapshotText(snapshot: Snapshot): string {
  return canonicalJson(packSnapshot(snapshot));
}

/**
 * The key of a set in `servedSets`: `sha256:<hex>` over its canonical JSON. Because the key is the content,
 * servers that serve the same share one set, and the set of a key can never be replaced.
 */
export function servedSetKey(set: ServedSet): Promise<string> {
  return keyOfText(servedSetText(set, canonicalJson));
}

/** The key of a set whose `servedSetText` is known. */
export function keyOfText(text: string): Promise<string> {
  return sha256Digest(new TextEncoder().encode(text));
}

/**
 * `canonicalJson` of a set, with its groups' texts from elsewhere: sets share most of their groups, and each need
 * be written out only once.
 */
export function servedSetText(set: ServedSet, groupText: (group: APIGroupDiscovery) => string): string {
  const { discovery, ...rest } = set;
  const restText = canonicalJson(rest);
  if (discovery === undefined) return restText;
  // `discovery` sorts before every other member of a set.
  const separator = restText === '{}' ? '' : ',';
  return `{"discovery":[${discovery.map(groupText).join(',')}]${separator}${restText.slice(1)}`;
}

import { canonicalJson } from '../../runtime/canonical-json.ts';
import { isSameJson } from '../../runtime/same-json.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import type { APIGroupDiscovery, ServedSet, Snapshot } from './schema.ts';
import { type PackedSet, setText } from './served-set-key.ts';

/** Difference of `set` from `base`, both ways. */
async function differenceFrom(
  [baseKey, base]: readonly [key: string, set: ServedSet],
  set: ServedSet,
  slice: TimeSlice,
): Promise<PackedSet> {
  const { discovery, ...maps } = set;
  const { discovery: baseGroups, ...baseMaps } = base;
  const difference: Record<string, unknown> = { base: baseKey };
  if (discovery !== baseGroups) {
    const places = new Map((baseGroups ?? []).map(({ metadata }, place) => [metadata.name, place]));
    const groups: (APIGroupDiscovery | number)[] = [];
    for (const group of discovery ?? []) {
      const place = places.get(group.metadata.name) ?? -1;
      groups.push(isSameGroup(group, baseGroups?.[place]) ? place : group);
      await slice.rest();
    }
    const isSame = groups.length === baseGroups?.length && groups.every((each, place) => each === place);
    if (discovery === undefined) difference['discovery'] = null;
    else if (!isSame) difference['discovery'] = groups;
  }
  const from = new Map<string, Readonly<Record<string, unknown>> | undefined>(Object.entries(baseMaps));
  for (const [name, map] of Object.entries(maps)) {
    const changes = map === from.get(name) ? undefined : await changesOf(from.get(name), map, slice);
    if (changes !== undefined) difference[name] = changes;
    from.delete(name);
  }
  for (const [name, map] of from) if (map !== undefined) difference[name] = null;
  return difference;
}

/** A group with its members in another order counts as another group: it is sent again, which does no harm. */
function isSameGroup(group: APIGroupDiscovery, other: APIGroupDiscovery | undefined): boolean {
  return group === other || JSON.stringify(group) === JSON.stringify(other);
}

/** @returns `undefined` where nothing differs, `null` where only the base has a map */
async function changesOf(
  base: Readonly<Record<string, unknown>> | undefined,
  map: Readonly<Record<string, unknown>> | undefined,
  slice: TimeSlice,
): Promise<Readonly<Record<string, unknown>> | null | undefined> {
  if (map === undefined) return base === undefined ? undefined : null;
  if (base === undefined) return map;
  const changes: [string, unknown][] = [];
  let looked = 0;
  for (const [key, value] of Object.entries(map)) {
    if (!isSameJson(value, Object.hasOwn(base, key) ? base[key] : undefined)) changes.push([key, value]);
    if (++looked % 64 === 0) await slice.rest();
  }
  for (const key of Object.keys(base)) if (!Object.hasOwn(map, key)) changes.push([key, null]);
  return changes.length === 0 ? undefined : Object.fromEntries(changes);
}

/** The text that was written last of a set, and the base that it differs from. */
const written = new WeakMap<ServedSet, { readonly base: ServedSet | undefined; readonly text: string }>();

/**
 * The sets of a snapshot as they are sent and stored, each as what differs from the one before it: API servers of neighbouring
 * versions describe most of what they serve in the same words.
 * @param known sets that the reader has: they are left out
 */
export async function setsText(
  sets: Snapshot['servedSets'],
  known: Snapshot['servedSets'] = {},
): Promise<string> {
  const slice = createTimeSlice();
  const members: string[] = [];
  let base: [key: string, set: ServedSet] | undefined;
  for (const [key, set] of Object.entries(sets)) {
    if (!Object.hasOwn(known, key)) {
      const before = written.get(set);
      const text =
        before !== undefined && before.base === base?.[1]
          ? before.text
          : await setText(base === undefined ? set : await differenceFrom(base, set, slice), slice);
      // The text of the first one is not kept: it is long, and the texts of its parts are.
      // An entry of before, when it was not the first, would hold the set that it came after, and so each set of before.
      if (base === undefined) written.delete(set);
      else written.set(set, { base: base[1], text });
      members.push(`${JSON.stringify(key)}:${text}`);
    }
    base = [key, set];
  }
  return `{${members.join(',')}}`;
}

/** A snapshot without its sets, which the keys of the servers stand for: canonical JSON, so that the same is the same text. */
export async function headText(snapshot: Snapshot): Promise<string> {
  const slice = createTimeSlice();
  return [
    `{"apiServices":${await listText(snapshot.apiServices, slice)},"apiVersion":${JSON.stringify(snapshot.apiVersion)},`,
    `"customResourceGroups":${await listText(snapshot.customResourceGroups, slice)},`,
    `"kind":${JSON.stringify(snapshot.kind)},"metadata":${canonicalJson(snapshot.metadata)},`,
    `"servers":${await listText(snapshot.servers, slice)}}`,
  ].join('');
}

/** The whole snapshot. @param isPacked false: every set is whole */
export async function snapshotText(snapshot: Snapshot, isPacked = true): Promise<string> {
  const head = await headText(snapshot);
  const sets = isPacked ? await setsText(snapshot.servedSets) : await wholeSetsText(snapshot.servedSets);
  return `${head.slice(0, -1)},"servedSets":${sets}}`;
}

async function wholeSetsText(sets: Snapshot['servedSets']): Promise<string> {
  const slice = createTimeSlice();
  const members: string[] = [];
  for (const [key, set] of Object.entries(sets)) {
    members.push(`${JSON.stringify(key)}:${await setText(set, slice)}`);
  }
  return `{${members.join(',')}}`;
}

async function listText(items: readonly object[], slice: TimeSlice): Promise<string> {
  const members: string[] = [];
  for (const item of items) {
    members.push(canonicalJson(item));
    await slice.rest();
  }
  return `[${members.join(',')}]`;
}

/** True if two snapshots say the same, but for generation and time. The keys of the sets stand for their content. */
export function isSameContent(one: Snapshot, other: Snapshot): boolean {
  return isSameJson(contentOf(one), contentOf(other));
}

function contentOf(snapshot: Snapshot) {
  const { generation: _generation, createdAt: _createdAt, ...metadata } = snapshot.metadata;
  return { ...snapshot, metadata, servedSets: Object.keys(snapshot.servedSets).sort() };
}

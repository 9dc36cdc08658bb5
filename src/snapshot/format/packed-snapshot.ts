import { canonicalJson } from '../../runtime/canonical-json.ts';
import { isSameJson } from '../../runtime/same-json.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import type { ServedSet, Snapshot } from './schema.ts';
import { groupTexts, setText, sortedMembers } from './served-set-key.ts';

/**
 * A snapshot as it is signed and stored: canonical JSON, so that the same snapshot is the same text. API servers of
 * neighbouring versions describe most of their groups in the same words: what several sets hold stands once, in
 * `discoveryGroups`, which is left out where nothing is shared, and the sets name it by its place there.
 * @param isPacked false: every set holds its groups itself
 */
export async function snapshotText(snapshot: Snapshot, isPacked = true): Promise<string> {
  const slice = createTimeSlice();
  const sets: (readonly [key: string, set: ServedSet, groups: readonly string[] | undefined])[] = [];
  const uses = new Map<string, number>();
  for (const [key, set] of sortedMembers(snapshot.servedSets)) {
    const groups = await groupTexts(set, slice);
    // A group that one set lists twice is not shared by that.
    for (const text of new Set(groups)) uses.set(text, (uses.get(text) ?? 0) + 1);
    sets.push([key, set, groups]);
  }
  const places = new Map<string, number>();
  const placed = (text: string): string => {
    if (!isPacked || (uses.get(text) ?? 0) < 2) return text;
    const place = places.get(text) ?? places.size;
    places.set(text, place);
    return String(place);
  };
  const setTexts: string[] = [];
  for (const [key, set, groups] of sets) {
    setTexts.push(`${JSON.stringify(key)}:${await setText(set, groups?.map(placed), slice)}`);
  }
  const pool = places.size === 0 ? '' : `"discoveryGroups":[${[...places.keys()].join(',')}],`;
  return [
    `{"apiServices":${await listText(snapshot.apiServices, slice)},"apiVersion":${JSON.stringify(snapshot.apiVersion)},`,
    `"customResourceGroups":${await listText(snapshot.customResourceGroups, slice)},${pool}`,
    `"kind":${JSON.stringify(snapshot.kind)},"metadata":${canonicalJson(snapshot.metadata)},`,
    `"servedSets":{${setTexts.join(',')}},"servers":${await listText(snapshot.servers, slice)}}`,
  ].join('');
}

async function listText(items: readonly object[], slice: TimeSlice): Promise<string> {
  const texts: string[] = [];
  for (const item of items) {
    texts.push(canonicalJson(item));
    await slice.rest();
  }
  return `[${texts.join(',')}]`;
}

/** Whether two snapshots say the same, but for generation and time. The keys of the sets stand for their content. */
export function isSameContent(one: Snapshot, other: Snapshot): boolean {
  return isSameJson(contentOf(one), contentOf(other));
}

function contentOf(snapshot: Snapshot) {
  const { generation: _generation, createdAt: _createdAt, ...metadata } = snapshot.metadata;
  return { ...snapshot, metadata, servedSets: Object.keys(snapshot.servedSets).sort() };
}

import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { sha256Digest } from '../../runtime/bytes.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import type { ServedSet } from './schema.ts';

/** Of groups, and of sets without their groups. */
const texts = new WeakMap<object, string>();

/** `canonicalJson` of a group, worked out once for each object. The object must not change. */
export function groupText(group: APIGroupDiscovery): string {
  const known = texts.get(group);
  if (known !== undefined) return known;
  const text = canonicalJson(group);
  texts.set(group, text);
  return text;
}

/** `canonicalJson` of a set without its groups, worked out once for each object. */
async function restText(set: ServedSet, slice: TimeSlice): Promise<string> {
  const known = texts.get(set);
  if (known !== undefined) return known;
  const { discovery: _discovery, ...rest } = set;
  const members: string[] = [];
  for (const [name, map] of sortedMembers<object | undefined>(rest)) {
    if (map === undefined) continue;
    const entries: string[] = [];
    for (const [key, value] of sortedMembers<unknown>({ ...map })) {
      entries.push(`${JSON.stringify(key)}:${canonicalJson(value)}`);
      await slice.rest();
    }
    members.push(`"${name}":{${entries.join(',')}}`);
  }
  const text = members.join(',');
  texts.set(set, text);
  return text;
}

export function sortedMembers<Value>(record: Readonly<Record<string, Value>>): [string, Value][] {
  return Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1));
}

/** @param groups the texts of its groups; `undefined` where nothing is known of them */
export async function setText(
  set: ServedSet,
  groups: readonly string[] | undefined,
  slice: TimeSlice,
): Promise<string> {
  // `discovery` sorts before every other member of a set.
  const discovery = groups === undefined ? '' : `"discovery":[${groups.join(',')}],`;
  return `{${discovery}${await restText(set, slice)}}`;
}

export async function groupTexts(
  { discovery }: ServedSet,
  slice: TimeSlice,
): Promise<readonly string[] | undefined> {
  if (discovery === undefined) return undefined;
  const groups: string[] = [];
  for (const group of discovery) {
    groups.push(groupText(group));
    await slice.rest();
  }
  return groups;
}

/**
 * The key of a set in `servedSets`: `sha256:<hex>` over its canonical JSON. Because the key is the content,
 * servers that serve the same share one set, and the set of a key can never be replaced.
 */
export async function servedSetKey(set: ServedSet, slice: TimeSlice = createTimeSlice()): Promise<string> {
  const text = await setText(set, await groupTexts(set, slice), slice);
  return sha256Digest(new TextEncoder().encode(text));
}

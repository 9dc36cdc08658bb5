import { sha256Digest } from '../../runtime/bytes.ts';
import { canonicalJson } from '../../runtime/canonical-json.ts';
import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import type { APIGroupDiscovery, ServedSet } from './schema.ts';

type SetMap = Exclude<keyof ServedSet, 'discovery'>;

/**
 * A set as it is sent and stored: whole, or its difference from a set that the reader has. A member that is left out is as in
 * the base. `null`: only the base has it.
 */
export type PackedSet = {
  readonly base?: string;
  /** A group, or the place of one in the base. */
  readonly discovery?: readonly (APIGroupDiscovery | number)[] | null | undefined;
} & { readonly [Name in SetMap]?: Readonly<Record<string, unknown>> | null | undefined };

/** Canonical JSON of groups, and of the maps of sets. What was given must not change. */
const texts = new WeakMap<object, string>();

export function groupText(group: APIGroupDiscovery): string {
  const known = texts.get(group);
  if (known !== undefined) return known;
  const text = canonicalJson(group);
  texts.set(group, text);
  return text;
}

/** Of a value that was parsed from it. */
export function rememberText(value: object, text: string): void {
  texts.set(value, text);
}

export async function mapText(map: Readonly<Record<string, unknown>>, slice: TimeSlice): Promise<string> {
  const known = texts.get(map);
  if (known !== undefined) return known;
  const entries: string[] = [];
  for (const key of Object.keys(map).sort()) {
    entries.push(`${JSON.stringify(key)}:${canonicalJson(map[key])}`);
    if (entries.length % 64 === 0) await slice.rest();
  }
  const text = `{${entries.join(',')}}`;
  texts.set(map, text);
  return text;
}

export async function setText({ base, discovery, ...maps }: PackedSet, slice: TimeSlice): Promise<string> {
  const members = base === undefined ? [] : [`"base":${JSON.stringify(base)}`];
  if (discovery === null) members.push('"discovery":null');
  else if (discovery !== undefined) {
    const groups: string[] = [];
    for (const group of discovery) {
      groups.push(typeof group === 'number' ? String(group) : groupText(group));
      await slice.rest();
    }
    members.push(`"discovery":[${groups.join(',')}]`);
  }
  for (const [name, map] of Object.entries(maps).sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (map !== undefined) members.push(`"${name}":${map === null ? 'null' : await mapText(map, slice)}`);
  }
  return `{${members.join(',')}}`;
}

/**
 * The key of a set in `servedSets`: `sha256:<hex>` over its canonical JSON. Because the key is the content,
 * servers that serve the same share one set, and the set of a key can never be replaced.
 */
export async function servedSetKey(set: ServedSet, slice: TimeSlice = createTimeSlice()): Promise<string> {
  return sha256Digest(new TextEncoder().encode(await setText(set, slice)));
}

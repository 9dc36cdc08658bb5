import { createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import type { ServedSet, Snapshot } from './schema.ts';
import { groupText, mapText } from './served-set-key.ts';
import { knownTextsOf, type MemberTexts, storedHead } from './stored-sets.ts';

/** Checked sets, as `readStoredSets` reads them. What several have in common is written once. */
export async function storedSets(sets: Snapshot['servedSets'], program: string): Promise<string> {
  const slice = createTimeSlice();
  const lines: string[] = [];
  const places = new Map<string, number>();
  const placeOf = (text: string): number => {
    const known = places.get(text);
    if (known !== undefined) return known;
    places.set(text, lines.length);
    return lines.push(text) - 1;
  };
  const written: [string, object][] = [];
  for (const [key, set] of Object.entries(sets)) {
    const members = [...(knownTextsOf(set) ?? (await textsOf(set, slice)))].map(([name, text]) => [
      name,
      typeof text === 'string' ? placeOf(text) : text.map(placeOf),
    ]);
    written.push([key, Object.fromEntries(members)]);
  }
  return [storedHead(program, Object.fromEntries(written)), ...lines].join('\n');
}

async function textsOf({ discovery, ...maps }: ServedSet, slice: TimeSlice): Promise<MemberTexts> {
  const texts = new Map<string, string | readonly string[]>();
  if (discovery !== undefined) {
    const groups: string[] = [];
    for (const group of discovery) {
      groups.push(groupText(group));
      await slice.rest();
    }
    texts.set('discovery', groups);
  }
  for (const [name, map] of Object.entries(maps).sort(([one], [other]) => (one < other ? -1 : 1))) {
    if (map !== undefined) texts.set(name, await mapText(map, slice));
  }
  return texts;
}

import { sha256Digest } from '../../runtime/bytes.ts';
import { isJsonObject } from '../../runtime/validation.ts';
import type { APIGroupDiscovery, ServedSet, Snapshot } from './schema.ts';
import { rememberText } from './served-set-key.ts';
import { SnapshotError } from './snapshot-error.ts';

/**
 * Sets as a program keeps them for itself once it has checked them: a line that says which program it was, and where each set
 * has its parts; then these, one a line, in canonical JSON. So who starts again with them compares each set with its hash,
 * which is signed, without writing it anew, and parses of it what is asked for.
 *
 * Sets that another program has checked are checked anew: its rules may have been others.
 */

/** Texts of the members of a set, in the order of canonical JSON; of `discovery`, those of its groups. */
export type MemberTexts = ReadonlyMap<string, string | readonly string[]>;

const memberTexts = new WeakMap<ServedSet, MemberTexts>();

/** Of a set that has been read here. */
export function knownTextsOf(set: ServedSet): MemberTexts | undefined {
  return memberTexts.get(set);
}

const beginning = '{"checkedBy":';

/** @returns the first line of stored sets, without its end */
export function storedHead(checkedBy: string, sets: Readonly<Record<string, object>>): string {
  return `${beginning}${JSON.stringify(checkedBy)},"sets":${JSON.stringify(sets)}}`;
}

export interface ReadSets {
  /** As the program that reads them has checked them. */
  readonly checked?: Snapshot['servedSets'];
  /** To be checked: JSON. */
  readonly text?: string;
}

/**
 * @param text all that stands behind the signature
 * @param program what reads them. Sets that another has stored are given back as JSON, each whole
 * @returns `undefined` for text of another form
 * @throws {SnapshotError} `Invalid`: a set is not what its key says
 */
export async function readStoredSets(text: string, program: string): Promise<ReadSets | undefined> {
  if (!text.startsWith(beginning)) return undefined;
  const [head = '', ...lines] = text.split('\n');
  const { checkedBy, sets } = JSON.parse(head) as { readonly checkedBy: unknown; readonly sets: unknown };
  const read = isJsonObject(sets) ? Object.entries(sets) : [];
  const texts = read.map(([key, places]): [string, MemberTexts] => [key, textsAt(places, lines)]);
  if (checkedBy !== program) {
    return { text: `{${texts.map(([key, each]) => `${JSON.stringify(key)}:${wholeText(each)}`).join(',')}}` };
  }
  const checked: [string, ServedSet][] = [];
  for (const [key, each] of texts) {
    if ((await sha256Digest(new TextEncoder().encode(wholeText(each)))) !== key) throw changed(key);
    checked.push([key, setOf(each)]);
  }
  return { checked: Object.fromEntries(checked) };
}

function changed(key: string): SnapshotError {
  return new SnapshotError('Invalid', `The stored set ${key} has another content than it is named by.`);
}

function textsAt(places: unknown, lines: readonly string[]): MemberTexts {
  const textAt = (place: unknown): string => lines[Number(place)] ?? '';
  const members = isJsonObject(places) ? Object.entries(places) : [];
  return new Map(
    members.map(([name, place]) => [name, Array.isArray(place) ? place.map(textAt) : textAt(place)]),
  );
}

function wholeText(texts: MemberTexts): string {
  const members = [...texts].map(
    ([name, text]) => `${JSON.stringify(name)}:${typeof text === 'string' ? text : `[${text.join(',')}]`}`,
  );
  return `{${members.join(',')}}`;
}

/** Its members are parsed when they are first asked for: only merged discovery reads the groups, which are most of it. */
function setOf(texts: MemberTexts): ServedSet {
  const set = {};
  for (const [name, text] of texts) {
    const read = typeof text === 'string' ? () => parsed(text) : () => text.map(parsed<APIGroupDiscovery>);
    const get = (): unknown => {
      const value = read();
      Object.defineProperty(set, name, { value, enumerable: true });
      return value;
    };
    Object.defineProperty(set, name, { get, enumerable: true, configurable: true });
  }
  memberTexts.set(set as ServedSet, texts);
  return set as ServedSet;
}

function parsed<Value extends object>(text: string): Value {
  const value = JSON.parse(text) as Value;
  rememberText(value, text);
  return value;
}

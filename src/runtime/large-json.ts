import type { TimeSlice } from './time.ts';
import { type JsonTextResult, parseJsonText } from './validation.ts';

/** Characters that are parsed at once: `JSON.parse` takes about a millisecond for them. */
const pieceLength = 64 * 1024;
/** Characters that are looked at between two rests. */
const lookLength = 256 * 1024;

/** An array or object that is not parsed at once: it is longer than a piece, or one of the first two levels. */
interface Container {
  readonly start: number;
  /** The place of its closing bracket. */
  readonly end: number;
  readonly isArray: boolean;
  /** The places of the commas between its members. */
  readonly commas: readonly number[];
  /** Containers among its members, by the number of the member. */
  readonly inner: ReadonlyMap<number, Container>;
}

/**
 * What need not be parsed: for the name of an object or array, what stands in place of a member. It is asked by the member's
 * name, or by the item's text; `undefined`: the member is parsed.
 */
type KnownJson = ReadonlyMap<string, (key: string) => unknown>;

/**
 * As `parseJsonText`, in pieces of about a millisecond, so that others run in between.
 * @param known default: nothing is. Only of members of the document, and of what is longer than a piece
 */
export async function parseLargeJson(
  text: string,
  maximumDepth: number,
  slice: TimeSlice,
  known: KnownJson = new Map(),
): Promise<JsonTextResult> {
  const root = await findContainers(text, maximumDepth, slice);
  // Too deep, or its brackets do not match: the message is that of the other parser.
  if (root === undefined) return parseJsonText(text, maximumDepth);
  try {
    return { ok: true, value: await parsePieces({ text, slice, known }, root, '') };
  } catch {
    return parseJsonText(text, maximumDepth);
  }
}

const quote = 0x22;
const comma = 0x2c;
const backslash = 0x5c;

interface OpenContainer {
  start: number;
  isArray: boolean;
  commas: number[];
  commaCount: number;
  inner: Map<number, Container>;
}

/** Looks at each character once. @returns `undefined` where the text is no array or object of that depth at most */
async function findContainers(
  text: string,
  maximumDepth: number,
  slice: TimeSlice,
): Promise<Container | undefined> {
  // One for each level, used again and again: most containers are small, and nothing of them is kept.
  const open: OpenContainer[] = [];
  let depth = 0;
  let root: Container | undefined;
  for (let index = 0, look = lookLength; index < text.length; index++) {
    if (index > look) {
      look = index + lookLength;
      await slice.rest();
    }
    const code = text.charCodeAt(index);
    if (code === quote) {
      for (index++; index < text.length; index++) {
        const inside = text.charCodeAt(index);
        if (inside === quote) break;
        if (inside === backslash) index++;
      }
    } else if (code === comma) {
      const container = open[depth - 1];
      if (container !== undefined) container.commas[container.commaCount++] = index;
    } else if (code === 0x7b || code === 0x5b) {
      if (root !== undefined || depth === maximumDepth) return undefined;
      const container = open[depth] ?? newContainer();
      open[depth++] = container;
      container.start = index;
      container.isArray = code === 0x5b;
      container.commaCount = 0;
    } else if (code === 0x7d || code === 0x5d) {
      const container = open[--depth];
      if (container === undefined || container.isArray !== (code === 0x5d)) return undefined;
      if (depth > 1 && index - container.start < pieceLength) continue;
      const { start, isArray, inner } = container;
      const commas = container.commas.slice(0, container.commaCount);
      const closed = { start, end: index, isArray, commas, inner };
      open[depth] = newContainer();
      const parent = open[depth - 1];
      if (depth === 0) root = closed;
      else parent?.inner.set(parent.commaCount, closed);
    }
  }
  return root !== undefined && isBlank(text.slice(0, root.start) + text.slice(root.end + 1))
    ? root
    : undefined;
}

function newContainer(): OpenContainer {
  return { start: 0, isArray: false, commas: [], commaCount: 0, inner: new Map() };
}

interface Pieces {
  readonly text: string;
  readonly slice: TimeSlice;
  readonly known: KnownJson;
}

/**
 * @param name that of the member which it is
 * @throws {SyntaxError} whose message is not to be shown: its places are those of a piece
 */
async function parsePieces(pieces: Pieces, { start, end, isArray, commas, inner }: Container, name: string) {
  const { text, slice, known } = pieces;
  const members: [string, unknown][] = [];
  const isEmpty = commas.length === 0 && isBlank(text.slice(start + 1, end));
  const parse = async (from: number, to: number): Promise<void> => {
    if (from > to || isEmpty) return;
    const piece = text.slice(from, to);
    if (isBlank(piece)) throw new SyntaxError('A member is missing.');
    const parsed = JSON.parse(isArray ? `[${piece}]` : `{${piece}}`) as object;
    for (const member of Object.entries(parsed)) members.push(member);
    await slice.rest();
  };
  const knownMember = known.get(name);
  let from = start + 1;
  for (let number = 0, memberStart = from; number <= commas.length; number++) {
    const memberEnd = commas[number] ?? end;
    const container = inner.get(number);
    const key = knownMember && keyOf(text, memberStart, memberEnd, isArray);
    const value = key === undefined ? undefined : knownMember?.(key);
    if (value !== undefined && key !== undefined) {
      await parse(from, memberStart - 1);
      members.push([key, value]);
      from = memberEnd + 1;
    } else if (container !== undefined) {
      await parse(from, memberStart - 1);
      members.push(await parseInner(pieces, container, memberStart, memberEnd, isArray));
      from = memberEnd + 1;
    } else if (memberEnd - from > pieceLength) {
      await parse(from, memberEnd);
      from = memberEnd + 1;
    }
    memberStart = memberEnd + 1;
  }
  await parse(from, end);
  return isArray ? members.map(([, value]) => value) : Object.fromEntries(members);
}

async function parseInner(
  pieces: Pieces,
  container: Container,
  start: number,
  end: number,
  isItem: boolean,
): Promise<[string, unknown]> {
  const before = pieces.text.slice(start, container.start);
  if (!isBlank(pieces.text.slice(container.end + 1, end)) || (isItem && !isBlank(before))) {
    throw new SyntaxError('A comma is missing.');
  }
  const [key = ''] = isItem ? [] : Object.keys(JSON.parse(`{${before}null}`) as object);
  return [key, await parsePieces(pieces, container, key)];
}

/** `undefined` where it is spelled otherwise than `JSON.stringify` does. */
function keyOf(text: string, start: number, end: number, isArray: boolean): string | undefined {
  if (isArray) return text.slice(start, end);
  return text.charCodeAt(start) === quote ? text.slice(start + 1, text.indexOf('"', start + 1)) : undefined;
}

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}

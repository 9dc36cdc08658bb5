import type { TimeSlice } from './time.ts';
import { endOfString, type JsonTextResult, parseJsonText } from './validation.ts';

/** Characters that are parsed at once: `JSON.parse` takes about a millisecond for them. */
const pieceLength = 64 * 1024;
const lookLength = 256 * 1024;

/** An array or object that is not parsed at once: it is longer than a piece, or one of the first two levels. */
interface Container {
  readonly start: number;
  readonly end: number;
  readonly isArray: boolean;
  readonly commas: readonly number[];
  readonly inner: ReadonlyMap<number, Container>;
}

/** As `parseJsonText`, in pieces of about a millisecond, so that others run in between. */
export async function parseJsonInPieces(
  text: string,
  maximumDepth: number,
  slice: TimeSlice,
): Promise<JsonTextResult> {
  const root = await findContainers(text, maximumDepth, slice);
  // Too deep, or its brackets do not match: the message is that of the other parser.
  if (root === undefined) return parseJsonText(text, maximumDepth);
  try {
    return { ok: true, value: await parsePieces(text, slice, root) };
  } catch {
    return parseJsonText(text, maximumDepth);
  }
}

const quote = 0x22;
const comma = 0x2c;

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
      index = endOfString(text, index);
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

/** @throws {SyntaxError} whose message is not to be shown: its places are those of a piece */
async function parsePieces(
  text: string,
  slice: TimeSlice,
  { start, end, isArray, commas, inner }: Container,
): Promise<unknown> {
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
  let from = start + 1;
  for (let number = 0, memberStart = from; number <= commas.length; number++) {
    const memberEnd = commas[number] ?? end;
    const container = inner.get(number);
    if (container !== undefined) {
      await parse(from, memberStart - 1);
      const before = text.slice(memberStart, container.start);
      if (!isBlank(text.slice(container.end + 1, memberEnd)) || (isArray && !isBlank(before))) {
        throw new SyntaxError('A comma is missing.');
      }
      const [key = ''] = isArray ? [] : Object.keys(JSON.parse(`{${before}null}`) as object);
      members.push([key, await parsePieces(text, slice, container)]);
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

function isBlank(text: string): boolean {
  return /^[ \t\r\n]*$/.test(text);
}

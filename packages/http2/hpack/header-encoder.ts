import { fieldValue, memoizeByName, token } from '../fields/header-fields.ts';
import { staticTable } from './static-table.ts';

/**
 * Sets the size of the dynamic table to 0 (RFC 7541 section 6.3). In the first block of a connection it holds for whatever
 * size the peer's settings name, then and later (section 4.2).
 */
export const emptyTable = '\x20';

export function indexedLine(name: string, value: string): string {
  for (let index = 0; index < staticTable.length; index += 2) {
    if (staticTable[index] === name && staticTable[index + 1] === value)
      return integer(index / 2 + 1, 7, 0x80);
  }
  return literalLine(name, value);
}

/** A literal that intermediaries must not index either (RFC 7541 section 6.2.3). */
const neverIndexed = 0x10;

/**
 * One header line as a literal that is never indexed. A connection carries requests of many callers: the length of one
 * must reveal nothing of another (RFC 7541 section 7.1.1).
 * @param name in lower case @param value a byte string
 */
export function literalLine(name: string, value: string): string {
  return literalName(name) + literalValue(value);
}

export const literalName = memoizeByName((name) => {
  const index = staticTable.findIndex((text, at) => at % 2 === 0 && text === name);
  return index === -1 ? `\x10${integer(name.length, 7, 0)}${name}` : integer(index / 2 + 1, 4, neverIndexed);
});

/**
 * Encodes the names of given header lines, in lower case (RFC 9113 section 8.2.1): empty for a line that is left out,
 * `false` for an invalid name. `encodedValue` follows.
 * @param isLeftOut of a name in lower case
 */
export function nameEncoder(isLeftOut: (name: string) => boolean): (name: string) => string | false {
  return memoizeByName((given) => {
    const name = given.toLowerCase();
    if (isLeftOut(name)) return '';
    return token.test(name) && literalName(name);
  });
}

/** The value of a given header line: no whitespace at either end (RFC 9113 section 8.2.1). `undefined` if it is invalid. */
export function encodedValue(given: string): string | undefined {
  const value = withoutSurroundingWhitespace(given);
  return fieldValue.test(value) ? literalValue(value) : undefined;
}

/**
 * Removes spaces and tabs. `trim` would remove more, and a regular expression would take quadratic time for whitespace within
 * the value.
 */
function withoutSurroundingWhitespace(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isSpaceOrTab(text.charCodeAt(start))) start++;
  while (end > start && isSpaceOrTab(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpaceOrTab(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

export function literalValue(value: string): string {
  return integer(value.length, 7, 0) + value;
}

/** RFC 7541 section 5.1, as a byte string. @param flags the bits in front of the prefix */
function integer(value: number, prefixBits: number, flags: number): string {
  const mask = (1 << prefixBits) - 1;
  if (value < mask) return oneByte[flags | value] as string;
  let text = oneByte[flags | mask] as string;
  let rest = value - mask;
  while (rest >= 0x80) {
    text += oneByte[0x80 | (rest & 0x7f)];
    rest >>>= 7;
  }
  return text + oneByte[rest];
}

const oneByte: readonly string[] = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(byte));

const tokenCharacter = "[!#$%&'*+\\-.^_`|~0-9A-Za-z]";
const fieldValueCharacter = '[\\t\\x20-\\x7e\\x80-\\xff]';

/** Of a name or a method (RFC 9110 section 5.6.2). */
export const token = new RegExp(`^${tokenCharacter}+$`);

/** The value of a header line (RFC 9110 section 5.5), as a byte string. */
export const fieldValue = new RegExp(`^${fieldValueCharacter}*$`);

const lineEndsAndFieldLines = new RegExp(`(?:\\r\\n${tokenCharacter}+:${fieldValueCharacter}*)*$`, 'y');

/**
 * Whether `text` is, from a place on to its end, nothing but header lines (RFC 9112 section 5), each behind a line end.
 * One look at all of them costs less than two at each; no character can be read in two ways, so that the time grows
 * with the length alone.
 */
export function areFieldLines(text: string, from: number): boolean {
  lineEndsAndFieldLines.lastIndex = from;
  return lineEndsAndFieldLines.test(text);
}

/**
 * RFC 9110 section 5.5: spaces and tabs around a value are no part of it. (`trim` would take more than those, and the
 * time of a regular expression would grow with the square of the whitespace within.)
 * @param from where in `text` the value begins
 * @param to where it ends. Default: at the end of `text`
 */
export function withoutSurroundingWhitespace(text: string, from = 0, to = text.length): string {
  let start = from;
  let end = to;
  while (start < end && isSpaceOrTab(text.charCodeAt(start))) start++;
  while (end > start && isSpaceOrTab(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpaceOrTab(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

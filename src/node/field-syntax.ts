/** Of a name or a method (RFC 9110 section 5.6.2). */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The value of a header line (RFC 9110 section 5.5), as a byte string. */
export const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * RFC 9110 section 5.5: spaces and tabs around a value are no part of it. (`trim` would take more than those, and the
 * time of a regular expression would grow with the square of the whitespace within.)
 * @param from where in `text` the value begins; it reaches to the end
 */
export function withoutSurroundingWhitespace(text: string, from = 0): string {
  let start = from;
  let end = text.length;
  while (start < end && isSpaceOrTab(text.charCodeAt(start))) start++;
  while (end > start && isSpaceOrTab(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isSpaceOrTab(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

import { memoizeByName } from './memoize-by-name.ts';

/** A header name or a method (RFC 9110 section 5.6.2). */
export const token = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/** The value of a header line (RFC 9110 section 5.5), as a byte string. */
export const fieldValue = /^[\t\x20-\x7e\x80-\xff]*$/;

/** The value of a header line in HTTP/2, as a byte string: no whitespace at either end (RFC 9113 section 8.2.1). */
export const http2FieldValue = /^(?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?$/;

/** A token in lower case (RFC 9113 section 8.2.1). */
const lowerCaseToken = /^[!#$%&'*+\-.^_`|~0-9a-z]+$/;
/** A message with one of these headers is malformed (RFC 9113 section 8.2.2). */
const malformedInHttp2: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

/** Whether a received HTTP/2 message may have a header line of this name, other than pseudo-header fields. */
export const isHttp2FieldName = memoizeByName(
  (name) => lowerCaseToken.test(name) && !malformedInHttp2.has(name),
);

/** The value of `Content-Length` (RFC 9110 section 8.6), in digits that a number holds exactly. */
export const contentLengthValue = /^\d{1,15}$/;

/**
 * Removes spaces and tabs around a value (RFC 9110 section 5.5). `trim` would remove more, and a regular expression would
 * take quadratic time for whitespace within the value.
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

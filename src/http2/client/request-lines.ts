import { isOmittedFromRequest } from '../fields/connection-headers.ts';
import { fieldValue, token, withoutSurroundingWhitespace } from '../fields/field-syntax.ts';
import type { HeaderLines } from '../fields/header-lines.ts';
import { memoizeByName } from '../fields/memoize-by-name.ts';
import { indexedLine, literalLine, literalName, literalValue } from '../hpack/header-encoder.ts';

/**
 * The encoded name of a header line, in lower case (RFC 9113 section 8.2.1). Empty for a line that is left out; `false`
 * for an invalid name.
 */
const encodedName = memoizeByName((name) => {
  if (isOmittedFromRequest(name)) return '';
  return token.test(name) && literalName(name.toLowerCase());
});
/** Visible ASCII, as `acceptRequestTarget` requires. */
const visible = /^[!-~]+$/;
/** `false` for an invalid method. */
const encodedMethod = memoizeByName((method) => token.test(method) && indexedLine(':method', method));
const encodedScheme = indexedLine(':scheme', 'https');

/**
 * The header block of a request, as a byte string.
 * @param authority host and port of the server, not the authority that the client used
 * @throws for a line that is not valid HTTP; the message quotes nothing of it.
 */
export function requestBlock(
  method: string,
  target: string,
  authority: string,
  headers: HeaderLines,
): string {
  const first = encodedMethod(method);
  if (!visible.test(target) || first === false) throw invalidCharacters('the request line');
  let block = first + encodedScheme + literalLine(':authority', authority) + literalLine(':path', target);
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = encodedName(headers[index] as string);
    if (name === '') continue;
    // RFC 9113 section 8.2.1 allows no whitespace at either end.
    const value = withoutSurroundingWhitespace(headers[index + 1] as string);
    if (name === false || !fieldValue.test(value)) throw invalidCharacters('a header line');
    block += name + literalValue(value);
  }
  return block;
}

function invalidCharacters(part: string): Error {
  return Object.assign(new Error(`${part} has characters that HTTP does not allow`), {
    code: 'ERR_INVALID_CHAR',
  });
}

/** What each line counts in addition to its bytes (RFC 9113 section 6.5.2). */
const lineOverhead = 32;
/** `:method`, `:path`, `:scheme` with `https`, and `:authority`. */
const pseudoHeaderBytes = 7 + 5 + 7 + 5 + 10 + 4 * lineOverhead;

/**
 * The size of a request head as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 section 6.5.2), in bytes. Lines that
 * `requestBlock` leaves out are counted, too.
 * @param authority host and port of the server
 */
export function headSize(method: string, target: string, authority: string, headers: HeaderLines): number {
  let size = pseudoHeaderBytes + method.length + target.length + authority.length;
  // Byte strings: a character is a byte.
  for (const text of headers) size += text.length;
  return size + (headers.length / 2) * lineOverhead;
}

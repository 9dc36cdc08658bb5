import { isNoRequestLine } from '../fields/connection-headers.ts';
import { fieldValue, token, withoutSurroundingWhitespace } from '../fields/field-syntax.ts';
import type { HeaderLines } from '../fields/header-lines.ts';
import { rememberingNames } from '../fields/remembered-names.ts';
import { indexedLine, literalLine, literalName, literalValue } from '../hpack/header-encoder.ts';

/**
 * What stands before the value of a line under this name, which goes in lower case (RFC 9113 section 8.2.1); empty for
 * what is left out, `false` for what is no name.
 */
const lineBeginning = rememberingNames((name) => {
  if (isNoRequestLine(name)) return '';
  return token.test(name) && literalName(name.toLowerCase());
});
/** What `acceptRequestTarget` lets through: in visible ASCII, origin-form or `*`. */
const visible = /^[!-~]+$/;
/** `false` for what is no method. */
const methodLine = rememberingNames((method) => token.test(method) && indexedLine(':method', method));
const schemeLine = indexedLine(':scheme', 'https');

/**
 * The header block of a request, as a byte string.
 * @param authority host and port of the server: what the client called us stays here.
 * @throws when a line cannot be sent so that every server reads the same; the message quotes nothing of it.
 */
export function requestBlock(
  method: string,
  target: string,
  authority: string,
  headers: HeaderLines,
): string {
  const firstLine = methodLine(method);
  if (!visible.test(target) || firstLine === false) throw unsendable('its request line');
  let block = firstLine + schemeLine + literalLine(':authority', authority) + literalLine(':path', target);
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const beginning = lineBeginning(headers[index] as string);
    if (beginning === '') continue;
    // RFC 9113 section 8.2.1 has no whitespace at either end.
    const value = withoutSurroundingWhitespace(headers[index + 1] as string);
    if (beginning === false || !fieldValue.test(value)) throw unsendable('a header line');
    block += beginning + literalValue(value);
  }
  return block;
}

function unsendable(part: string): Error {
  return Object.assign(new Error(`${part} has characters that HTTP does not allow`), {
    code: 'ERR_INVALID_CHAR',
  });
}

import type { RawHeaders } from '../../apimachinery/raw-headers.ts';
import { rememberingNames } from '../../apimachinery/remembered-names.ts';
import { isNoRequestLine } from '../connection-headers.ts';
import { fieldValue, token, withoutSurroundingWhitespace } from '../field-syntax.ts';
import { indexedLine, literalLine } from './hpack/header-encoder.ts';

/** In lower case (RFC 9113 section 8.2.1); the empty string for what is no name. */
const lowerCaseName = rememberingNames((name) => (token.test(name) ? name.toLowerCase() : ''));
/** What `acceptRequestTarget` lets through: in visible ASCII, origin-form or `*`. */
const visible = /^[!-~]+$/;
const methodLine = rememberingNames((method) => indexedLine(':method', method));
const schemeLine = indexedLine(':scheme', 'https');

/**
 * The header block of a request, as a byte string.
 * @param authority host and port of the server: what the client called us stays here.
 * @throws when a line cannot be sent so that every server reads the same; the message quotes nothing of it.
 */
export function requestBlock(method: string, target: string, authority: string, headers: RawHeaders): string {
  if (!visible.test(target) || lowerCaseName(method) === '') throw unsendable('its request line');
  let block =
    methodLine(method) + schemeLine + literalLine(':authority', authority) + literalLine(':path', target);
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const given = headers[index] as string;
    if (isNoRequestLine(given)) continue;
    const name = lowerCaseName(given);
    // RFC 9113 section 8.2.1 has no whitespace at either end.
    const value = withoutSurroundingWhitespace(headers[index + 1] as string);
    if (name === '' || !fieldValue.test(value)) throw unsendable('a header line');
    block += literalLine(name, value);
  }
  return block;
}

function unsendable(part: string): Error {
  return Object.assign(new Error(`${part} has characters that HTTP does not allow`), {
    code: 'ERR_INVALID_CHAR',
  });
}

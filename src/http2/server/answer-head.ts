import { fieldValue, token, withoutSurroundingWhitespace } from '../fields/field-syntax.ts';
import type { HeaderLines } from '../fields/header-lines.ts';
import { httpDate } from '../fields/http-date.ts';
import { rememberingNames } from '../fields/remembered-names.ts';
import { indexedLine, literalName, literalValue } from '../hpack/header-encoder.ts';

/**
 * What stands before the value of a line under this name, which goes in lower case (RFC 9113 section 8.2.1); empty for
 * what belongs to a connection by HTTP/1.1 (section 8.2.2), `false` for what is no name.
 */
const lineBeginning = rememberingNames((given) => {
  const name = given.toLowerCase();
  switch (name) {
    case 'connection':
    case 'http2-settings':
    case 'keep-alive':
    case 'proxy-connection':
    case 'te':
    case 'transfer-encoding':
    case 'upgrade':
      return '';
    default:
      return token.test(name) && literalName(name);
  }
});
const dateBeginning = literalName('date');
const lengthBeginning = literalName('content-length');
/** The statuses that the static table has, and those asked for. */
const statusLines = new Map<number, string>();

/** What follows the head of these is no content of theirs (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5). */
export function hasContent(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

/**
 * The header block of an answer, as a byte string. Nothing of it is ever put in a table, so that what is sent in one
 * answer does not show in the length of another (RFC 7541 section 7.1.1), and no block depends on one before it.
 * @throws {TypeError} when a line cannot be written: a line break in it would begin an answer of the server's own making
 *   for whoever passes it on by HTTP/1.1.
 */
export function answerBlock(status: number, headers: HeaderLines): string {
  let block = statusLine(status);
  let hasDate = false;
  // A 204 must not name a length (RFC 9110 section 8.6), and a 205 has none to name: an answer that falls short of its
  // length is a broken one (RFC 9113 section 8.1.1). A 304 names that of another answer.
  const namesLength = status !== 204 && status !== 205;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const beginning = lineBeginning(headers[index] as string);
    if (beginning === '') continue;
    // RFC 9113 section 8.2.1 has no whitespace at either end.
    const value = withoutSurroundingWhitespace(headers[index + 1] as string);
    if (beginning === false || !fieldValue.test(value)) {
      throw new TypeError('a header line of the answer cannot be written: it is no valid HTTP');
    }
    if (beginning === lengthBeginning && !namesLength) continue;
    if (beginning === dateBeginning) hasDate = true;
    block += beginning + literalValue(value);
  }
  // RFC 9110 section 6.6.1.
  return hasDate ? block : block + dateBeginning + literalValue(httpDate());
}

/** The block of an interim answer (RFC 9110 section 15.2). */
export function interimBlock(status: number): string {
  return statusLine(status);
}

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line !== undefined) return line;
  if (!Number.isInteger(status) || status < 100 || status > 999) {
    throw new TypeError('the status of the answer cannot be written: it is no status of HTTP');
  }
  line = indexedLine(':status', String(status));
  statusLines.set(status, line);
  return line;
}

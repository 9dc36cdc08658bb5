import { connectionSpecific, type HeaderLines } from '../fields/header-fields.ts';
import {
  encodedValue,
  indexedLine,
  literalName,
  literalValue,
  nameEncoder,
} from '../hpack/header-encoder.ts';

/** Connection-specific headers are left out (RFC 9113 section 8.2.2). */
const encodedName = nameEncoder((name) => connectionSpecific.has(name) || name === 'te');
const encodedDate = literalName('date');
const encodedContentLength = literalName('content-length');
const statusLines = new Map<number, string>();

/** Whether responses of this status have content (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5). */
export function hasContent(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

/**
 * The header block of a response, as a byte string. It uses no dynamic table: the length of one response reveals
 * nothing of another (RFC 7541 section 7.1.1), and no block depends on an earlier one.
 * @throws {TypeError} for an invalid header line: a line break would let a server forge a second response where the
 *   first is forwarded over HTTP/1.1.
 */
export function responseBlock(status: number, headers: HeaderLines): string {
  let block = statusLine(status);
  let hasDate = false;
  // A 204 must not have a Content-Length (RFC 9110 section 8.6), nor must a 205: content that is shorter than its
  // Content-Length is an error (RFC 9113 section 8.1.1). A 304 may have that of the 200.
  const mayHaveLength = status !== 204 && status !== 205;
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = encodedName(headers[index] as string);
    if (name === '') continue;
    const value = encodedValue(headers[index + 1] as string);
    if (name === false || value === undefined) {
      throw new TypeError('the response cannot be written: a header line is not valid HTTP');
    }
    if (name === encodedContentLength && !mayHaveLength) continue;
    if (name === encodedDate) hasDate = true;
    block += name + value;
  }
  // RFC 9110 section 6.6.1.
  return hasDate ? block : block + encodedDate + literalValue(httpDate());
}

/** The header block of an interim response (RFC 9110 section 15.2). */
export function interimBlock(status: number): string {
  return statusLine(status);
}

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line !== undefined) return line;
  if (!Number.isInteger(status) || status < 100 || status > 999) {
    throw new TypeError('the response cannot be written: its status is not valid HTTP');
  }
  line = indexedLine(':status', String(status));
  statusLines.set(status, line);
  return line;
}

let dateText = '';
let dateSecond = -1;

/** The current time as an HTTP-date (RFC 9110 section 5.6.7), formatted once a second. */
function httpDate(): string {
  const now = Date.now();
  const second = Math.floor(now / 1_000);
  if (second !== dateSecond) {
    dateSecond = second;
    dateText = new Date(now).toUTCString();
  }
  return dateText;
}

import {
  connectionSpecific,
  contentLengthValue,
  type HeaderLines,
  http2FieldValue,
  isHttp2FieldName,
  isOmittedFromRequest,
  mayHaveLength,
  memoizeByName,
  token,
  withJoinedCookies,
} from '../fields/header-fields.ts';
import {
  encodedValue,
  indexedLine,
  literalLine,
  literalName,
  literalValue,
  nameEncoder,
} from '../hpack/header-encoder.ts';
import { malformedRequest, malformedResponse } from './frame.ts';

const encodedRequestName = nameEncoder(isOmittedFromRequest);
const visibleAscii = /^[!-~]+$/;
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
  if (!visibleAscii.test(target) || first === false) throw invalidCharacters('the request line');
  let block = first + encodedScheme + literalLine(':authority', authority) + literalLine(':path', target);
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = encodedRequestName(headers[index] as string);
    if (name === '') continue;
    const value = encodedValue(headers[index + 1] as string);
    if (name === false || value === undefined) throw invalidCharacters('a header line');
    block += name + value;
  }
  return block;
}

function invalidCharacters(part: string): Error {
  return Object.assign(new Error(`${part} has characters that HTTP does not allow`), {
    code: 'ERR_INVALID_CHAR',
  });
}

/** Bytes that each line counts in addition to its own (RFC 9113 section 6.5.2). */
const lineOverhead = 32;
const pseudoHeaderBytes = 7 + 5 + 7 + 5 + 10 + 4 * lineOverhead;

/**
 * The size of a request head as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 section 6.5.2), in bytes. Lines that
 * `requestBlock` leaves out are counted, too.
 * @param authority host and port of the server
 */
export function headSize(method: string, target: string, authority: string, headers: HeaderLines): number {
  let size = pseudoHeaderBytes + method.length + target.length + authority.length;
  for (const text of headers) size += text.length;
  return size + (headers.length / 2) * lineOverhead;
}

interface ResponseLines {
  readonly status: number | undefined;
  readonly lines: string[];
  /** Bytes, where there is a `Content-Length` (RFC 9110 section 8.6). */
  readonly contentLength: number | undefined;
}

const statusCode = /^[1-9]\d\d$/;

/**
 * Parses the lines of a response (RFC 9113 section 8). Pure.
 * @param isTrailers whether they come after the content
 * @throws {Http2Error} of scope `stream`, for a malformed response (section 8.1.1). It quotes nothing of it.
 */
export function parseResponseLines(decoded: readonly string[], isTrailers: boolean): ResponseLines {
  let status: number | undefined;
  let contentLength: number | undefined;
  let start = 0;
  if (!isTrailers) {
    if (decoded[0] !== ':status' || !statusCode.test(decoded[1] ?? ''))
      throw malformedResponse('it has no status');
    status = Number(decoded[1]);
    start = 2;
  }
  for (let index = start; index < decoded.length; index += 2) {
    const name = decoded[index] as string;
    const value = decoded[index + 1] as string;
    checkLine(name, value, malformedResponse);
    if (name === 'content-length' && !isTrailers) {
      if (contentLength !== undefined || !contentLengthValue.test(value)) {
        throw malformedResponse('its Content-Length is invalid');
      }
      contentLength = Number(value);
    }
  }
  return { status, lines: isTrailers ? [] : decoded.slice(start), contentLength };
}

/** The head of a request (RFC 9113 section 8). */
export interface RequestHead {
  readonly method: string;
  /** `:path` as it was received, not decoded or resolved. `*` for OPTIONS of the whole server; empty for CONNECT. */
  readonly target: string;
  /** `:authority`, or else `Host`. Only characters of a host and a port, but not always valid in a URL. */
  readonly authority: string;
  /** Lines without pseudo-header fields: name, value, name, value, …; names in lower case, `Cookie` joined. */
  readonly headers: readonly string[];
  /** Bytes, where there is a `Content-Length` (RFC 9110 section 8.6). */
  readonly contentLength: number | undefined;
  readonly expectation: string | undefined;
}

/** Bytes of a path, and more: path acceptance decides which are allowed. */
const visibleBytes = /^[\x21-\x7e\x80-\xff]+$/;
/** RFC 3986 section 3.1. */
const scheme = /^[A-Za-z][A-Za-z0-9+.-]*$/;
/** Characters of a host and a port (RFC 3986 section 3.2), without user information (RFC 9113 section 8.3.1). */
const authorityText = /^[!$%&'()*+,\-.0-9:;=A-Z[\]_a-z~]*$/;

/**
 * Parses the lines of a request. Pure.
 * @throws {Http2Error} of scope `stream`, for a malformed request (RFC 9113 section 8.1.1). It quotes nothing of it.
 */
export function parseRequestHead(decoded: readonly string[]): RequestHead {
  let method: string | undefined;
  let target: string | undefined;
  let hasScheme = false;
  let namedAuthority: string | undefined;
  let index = 0;
  for (; index < decoded.length; index += 2) {
    const value = decoded[index + 1] as string;
    const name = decoded[index] as string;
    if (!name.startsWith(':')) break;
    switch (name) {
      case ':method':
        if (method !== undefined || !token.test(value)) throw malformedRequest('its method is invalid');
        method = value;
        break;
      case ':path':
        if (target !== undefined || !visibleBytes.test(value)) throw malformedRequest('its path is invalid');
        target = value;
        break;
      case ':scheme':
        if (hasScheme || !scheme.test(value)) throw malformedRequest('its scheme is invalid');
        hasScheme = true;
        break;
      case ':authority':
        if (namedAuthority !== undefined || !authorityText.test(value))
          throw malformedRequest('its authority is invalid');
        namedAuthority = value;
        break;
      default:
        throw malformedRequest('it has an unknown pseudo-header field');
    }
  }
  if (method === undefined) throw malformedRequest('it has no method');
  const lines = readLines(decoded, index);
  const authority = namedAuthority ?? lines.host;
  if (method === 'CONNECT') {
    // RFC 9113 section 8.5.
    if (hasScheme || target !== undefined || namedAuthority === undefined)
      throw malformedRequest('CONNECT has a scheme or a path, or no authority');
  } else {
    // RFC 9113 section 8.3.1.
    if (!hasScheme || target === undefined) throw malformedRequest('it has no scheme or no path');
    if (!target.startsWith('/') && !(target === '*' && method === 'OPTIONS'))
      throw malformedRequest('its path is invalid');
    if (authority === undefined) throw malformedRequest('it has no authority');
  }
  const { contentLength, expectation } = lines;
  const headers = withJoinedCookies(decoded.slice(index));
  return { method, target: target ?? '', authority: authority ?? '', headers, contentLength, expectation };
}

export function unreadHead(decoded: readonly string[]): RequestHead {
  const place = decoded.indexOf(':method');
  const method = place === -1 ? 'GET' : (decoded[place + 1] as string);
  return {
    method,
    target: '/',
    authority: '',
    headers: [],
    contentLength: undefined,
    expectation: undefined,
  };
}

interface Lines {
  readonly contentLength: number | undefined;
  readonly expectation: string | undefined;
  readonly host: string | undefined;
}

function readLines(decoded: readonly string[], from: number): Lines {
  let contentLength: number | undefined;
  let expectation: string | undefined;
  let host: string | undefined;
  for (let index = from; index < decoded.length; index += 2) {
    const name = decoded[index] as string;
    const value = decoded[index + 1] as string;
    checkLine(name, value, malformedRequest);
    switch (name) {
      case 'content-length':
        if (contentLength !== undefined || !contentLengthValue.test(value))
          throw malformedRequest('its Content-Length is invalid');
        contentLength = Number(value);
        break;
      case 'host':
        if (host !== undefined || !authorityText.test(value)) throw malformedRequest('its Host is invalid');
        host = value;
        break;
      case 'te':
        // RFC 9113 section 8.2.2.
        if (value.toLowerCase() !== 'trailers') throw malformedRequest('its TE is not "trailers"');
        break;
      case 'expect':
        expectation = value.toLowerCase();
        break;
    }
  }
  return { contentLength, expectation, host };
}

/** A second pseudo-header field, or one after other lines, fails here as well: no name has a colon. */
function checkLine(name: string, value: string, malformed: (reason: string) => Error): void {
  if (!isHttp2FieldName(name)) throw malformed('a header name is invalid');
  if (!http2FieldValue.test(value)) throw malformed('a header value is invalid');
}

export function checkTrailers(decoded: readonly string[]): void {
  for (let index = 0; index < decoded.length; index += 2) {
    checkLine(decoded[index] as string, decoded[index + 1] as string, malformedRequest);
  }
}

/** Connection-specific headers are left out (RFC 9113 section 8.2.2). */
const encodedResponseName = nameEncoder((name) => connectionSpecific.has(name) || name === 'te');
const encodedDate = literalName('date');
const encodedContentLength = literalName('content-length');
const statusLines = new Map<number, string>();

/**
 * The header block of a response, as a byte string. It uses no dynamic table: the length of one response reveals
 * nothing of another (RFC 7541 section 7.1.1), and no block depends on an earlier one.
 * @throws {TypeError} for an invalid header line: a line break would let a server forge a second response where the
 *   first is forwarded over HTTP/1.1.
 */
export function responseBlock(status: number, headers: HeaderLines): string {
  let block = statusLine(status);
  let hasDate = false;
  const dropsLength = !mayHaveLength(status);
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = encodedResponseName(headers[index] as string);
    if (name === '') continue;
    const value = encodedValue(headers[index + 1] as string);
    if (name === false || value === undefined) {
      throw new TypeError('the response cannot be written: a header line is not valid HTTP');
    }
    if (dropsLength && name === encodedContentLength) continue;
    if (name === encodedDate) hasDate = true;
    block += name + value;
  }
  // RFC 9110 section 6.6.1.
  return hasDate ? block : block + encodedDate + literalValue(httpDate());
}

/** The whole header block of an interim response (RFC 9110 section 15.2). */
export function statusLine(status: number): string {
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

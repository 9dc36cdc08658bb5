import { withJoinedCookies } from '../fields/connection-headers.ts';
import { fieldValue, isFieldName } from '../frames/field-lines.ts';
import { malformedRequest } from '../frames/http2-error.ts';

/** The head of a request, read as RFC 9113 section 8 has it. */
export interface RequestHead {
  readonly method: string;
  /** `:path` as it came, nothing of it decoded or resolved. `*` for OPTIONS of the server itself; empty with CONNECT. */
  readonly target: string;
  /** `:authority`, or else `Host`: letters, digits and marks of a host and a port, and not always one of a URL. */
  readonly authority: string;
  /** Lines without pseudo-header fields: name, value, name, value, …; names in lower case, `Cookie` in one. */
  readonly headers: readonly string[];
  /** Bytes, where there is a `Content-Length` (RFC 9110 section 8.6). */
  readonly contentLength: number | undefined;
  /** `Expect`, in lower case. */
  readonly expectation: string | undefined;
}

/** What a path is made of, and more: which bytes count is for path acceptance to say. */
const visible = /^[\x21-\x7e\x80-\xff]+$/;
const methodToken = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** RFC 3986 section 3.1. */
const scheme = /^[A-Za-z][A-Za-z0-9+.-]*$/;
/** What a host and a port are made of (RFC 3986 section 3.2); no user information (RFC 9113 section 8.3.1). */
const authorityText = /^[!$%&'()*+,\-.0-9:;=A-Z[\]_a-z~]*$/;
const digits = /^\d{1,15}$/;

/**
 * Reads the lines of a request. Pure.
 * @throws {Http2Error} of scope `stream`, for a malformed request (RFC 9113 section 8.1.1); it quotes nothing of it.
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
        if (method !== undefined || !methodToken.test(value)) throw malformedRequest('its method');
        method = value;
        break;
      case ':path':
        if (target !== undefined || !visible.test(value)) throw malformedRequest('its path');
        target = value;
        break;
      case ':scheme':
        if (hasScheme || !scheme.test(value)) throw malformedRequest('its scheme');
        hasScheme = true;
        break;
      case ':authority':
        if (namedAuthority !== undefined || !authorityText.test(value))
          throw malformedRequest('its authority');
        namedAuthority = value;
        break;
      default:
        throw malformedRequest('a pseudo-header field that requests do not have');
    }
  }
  if (method === undefined) throw malformedRequest('no method');
  const lines = readLines(decoded, index);
  const authority = namedAuthority ?? lines.host;
  if (method === 'CONNECT') {
    // RFC 9113 section 8.5.
    if (hasScheme || target !== undefined || namedAuthority === undefined)
      throw malformedRequest('CONNECT with a path');
  } else {
    // RFC 9113 section 8.3.1.
    if (!hasScheme || target === undefined) throw malformedRequest('no scheme, or no path');
    if (!target.startsWith('/') && !(target === '*' && method === 'OPTIONS'))
      throw malformedRequest('its path');
    if (authority === undefined) throw malformedRequest('no authority');
  }
  const { contentLength, expectation } = lines;
  const headers = withJoinedCookies(decoded.slice(index));
  return { method, target: target ?? '', authority: authority ?? '', headers, contentLength, expectation };
}

/** A head that is too large to be read to its end: its method is known, and not much else. */
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
    // A pseudo-header field behind others fails here as well: no name has a colon.
    if (!isFieldName(name)) throw malformedRequest('the name of a header line');
    if (!fieldValue.test(value)) throw malformedRequest('the value of a header line');
    switch (name) {
      case 'content-length':
        if (contentLength !== undefined || !digits.test(value)) throw malformedRequest('its length');
        contentLength = Number(value);
        break;
      case 'host':
        if (host !== undefined || !authorityText.test(value)) throw malformedRequest('its host');
        host = value;
        break;
      case 'te':
        // RFC 9113 section 8.2.2.
        if (value.toLowerCase() !== 'trailers') throw malformedRequest('a transfer coding');
        break;
      case 'expect':
        expectation = value.toLowerCase();
        break;
    }
  }
  return { contentLength, expectation, host };
}

/** Lines behind the body: nobody is given them, but they have to be some. @throws {Http2Error} of scope `stream` */
export function checkTrailers(decoded: readonly string[]): void {
  for (let index = 0; index < decoded.length; index += 2) {
    if (!isFieldName(decoded[index] as string) || !fieldValue.test(decoded[index + 1] as string)) {
      throw malformedRequest('a line behind its body');
    }
  }
}

import {
  contentLengthValue,
  http2FieldValue,
  isHttp2FieldName,
  token,
  withJoinedCookies,
} from '../fields/header-fields.ts';
import { malformedRequest } from '../frames/http2-error.ts';

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
  /** `Expect`, in lower case. */
  readonly expectation: string | undefined;
}

/** Bytes of a path, and more: path acceptance decides which are allowed. */
const visible = /^[\x21-\x7e\x80-\xff]+$/;
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
        if (target !== undefined || !visible.test(value)) throw malformedRequest('its path is invalid');
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

const noLines: readonly string[] = [];
/** Characters. */
const maximumKeptLine = 1_024;
/** Memory of a line in addition to its characters, about. */
const lineOverhead = 64;

/** Memory of a head, in bytes, about. */
export function sizeOf({ target, headers }: Pick<RequestHead, 'target' | 'headers'>): number {
  let bytes = target.length + (headers.length / 2) * lineOverhead;
  for (const part of headers) bytes += part.length;
  return bytes;
}

/**
 * What is still needed of a head once its response has begun: a watch must not keep the lines in memory for as long as
 * it lasts. The line by which clients are told apart in logs stays.
 */
export function respondedHead(head: RequestHead): RequestHead {
  const { method, target, authority, contentLength, expectation } = head;
  const place = head.headers.indexOf('user-agent');
  const [name, value = ''] = place % 2 === 0 ? head.headers.slice(place, place + 2) : [];
  const headers = name === undefined || value.length > maximumKeptLine ? noLines : [name, value];
  return { method, target, authority, headers, contentLength, expectation };
}

/** The head of a request that exceeds the limits: only its method is known. */
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
    // A pseudo-header field after other lines fails here as well: no name has a colon.
    if (!isHttp2FieldName(name)) throw malformedRequest('a header name is invalid');
    if (!http2FieldValue.test(value)) throw malformedRequest('a header value is invalid');
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

/** Checks trailers, which are then dropped. @throws {Http2Error} of scope `stream` */
export function checkTrailers(decoded: readonly string[]): void {
  for (let index = 0; index < decoded.length; index += 2) {
    if (!isHttp2FieldName(decoded[index] as string) || !http2FieldValue.test(decoded[index + 1] as string)) {
      throw malformedRequest('a trailer is invalid');
    }
  }
}

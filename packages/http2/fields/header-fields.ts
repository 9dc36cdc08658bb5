/**
 * Header lines: name, value, name, value, …, in order, one entry a line. Values are byte strings: each character is
 * one byte.
 */
export type HeaderLines = readonly string[];

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

/**
 * Connection-specific headers of HTTP/1.1, which must not be written to an HTTP/2 stream (RFC 9113 section 8.2.2). Node
 * throws on them, and through @hono/node-server that ends the process.
 */
export const connectionSpecific: ReadonlySet<string> = new Set([...malformedInHttp2, 'http2-settings']);

export const isHttp2FieldName = memoizeByName(
  (name) => lowerCaseToken.test(name) && !malformedInHttp2.has(name),
);

/** The value of `Content-Length` (RFC 9110 section 8.6), in digits that a number holds exactly. */
export const contentLengthValue = /^\d{1,15}$/;

/**
 * The header lines of a request as they are sent to a destination. `Host` is left out: it would name the router, and
 * undici would also take the TLS server name from it. So are lines that set the framing, on which undici throws.
 */
export function requestLines(headers: HeaderLines): string[] {
  const lines: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (isOmittedFromRequest(name)) continue;
    lines.push(name, headers[index + 1] as string);
  }
  return lines;
}

export const isOmittedFromRequest = memoizeByName((given) => {
  const name = given.toLowerCase();
  return connectionSpecific.has(name) || name === 'host' || name === 'te' || name === 'expect';
});

/**
 * Joins `Cookie` lines with `; `. HTTP/2 may split them; other code must see one line (RFC 9113 section 8.2.3).
 */
export function withJoinedCookies(headers: HeaderLines): HeaderLines {
  const cookies: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index] === 'cookie') cookies.push(headers[index + 1] as string);
  }
  if (cookies.length < 2) return headers;
  const joined: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name !== 'cookie') joined.push(name, headers[index + 1] as string);
  }
  joined.push('cookie', cookies.join('; '));
  return joined;
}

const lineMemory = 64;

/** Memory of the head of a request, in bytes, about. */
export function headMemory(target: string, headers: HeaderLines): number {
  let bytes = target.length + (headers.length / 2) * lineMemory;
  for (const part of headers) bytes += part.length;
  return bytes;
}

/** Characters. */
const maximumKeptLine = 1_024;
const noLines: readonly string[] = [];

/**
 * Lines of a request that are kept once its response has begun: `User-Agent`, by which logs tell clients apart. A watch
 * must not keep the other lines in memory for as long as the watch lasts.
 */
export function linesForLogs(headers: HeaderLines): HeaderLines {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (name.length !== 10 || name.toLowerCase() !== 'user-agent') continue;
    const value = headers[index + 1] as string;
    return value.length > maximumKeptLine ? noLines : [name, value];
  }
  return noLines;
}

/** True if responses of this status have content (RFC 9110 sections 15.3.5, 15.3.6 and 15.4.5). */
export function hasContent(status: number): boolean {
  return status !== 204 && status !== 205 && status !== 304;
}

/**
 * True if a response of this status may have a Content-Length: not a 204 (RFC 9110 section 8.6), nor a 205. To an
 * HTTP/2 client content that is shorter than its Content-Length is an error (RFC 9113 section 8.1.1). A 304 may have
 * that of the 200.
 */
export function mayHaveLength(status: number): boolean {
  return status !== 204 && status !== 205;
}

/** Limits of the cache: names that a client invents must not fill the memory. */
const maximumNames = 512;
const maximumLength = 64;

/**
 * Memoizes a pure function of a header name. Clients send the same few names with every request, and computing a result
 * costs ten times as much as finding it here.
 */
export function memoizeByName<Result extends string | boolean>(
  compute: (name: string) => Result,
): (name: string) => Result {
  const known = new Map<string, Result>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const result = compute(name);
    if (name.length <= maximumLength) {
      if (known.size >= maximumNames) known.clear();
      known.set(name, result);
    }
    return result;
  };
}

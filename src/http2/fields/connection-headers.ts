import type { HeaderLines } from './header-lines.ts';
import { memoizeByName } from './memoize-by-name.ts';

/**
 * Connection-specific headers of HTTP/1.1, which must not be written to an HTTP/2 stream (RFC 9113 section 8.2.2). Node
 * throws on them, and through @hono/node-server that ends the process.
 */
export const connectionSpecific: ReadonlySet<string> = new Set([
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);

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

/** Whether `requestLines` leaves out lines of this name. */
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

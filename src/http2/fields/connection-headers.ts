import type { HeaderLines } from './header-lines.ts';
import { rememberingNames } from './remembered-names.ts';

/**
 * Header names that belong to one HTTP/1.1 connection and must not be written to an HTTP/2 stream
 * (RFC 9113 section 8.2.2). Node throws on them, and through @hono/node-server that throw ends the process.
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
 * The header lines of a request as they go to a destination. `Host` names the destination, not what the
 * client called us: undici also takes the TLS name from it where none is pinned. The framing is the
 * connection's own, and undici throws on lines that would set it.
 */
export function requestLines(headers: HeaderLines): string[] {
  const lines: string[] = [];
  for (let index = 0; index + 1 < headers.length; index += 2) {
    const name = headers[index] as string;
    if (isNoRequestLine(name)) continue;
    lines.push(name, headers[index + 1] as string);
  }
  return lines;
}

/** Whether a line under this name is left out by `requestLines`. */
export const isNoRequestLine = rememberingNames((given) => {
  const name = given.toLowerCase();
  return connectionSpecific.has(name) || name === 'host' || name === 'te' || name === 'expect';
});

/**
 * HTTP/2 may split `Cookie` into several lines; anything else must see one, joined with `; `
 * (RFC 9113 section 8.2.3).
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

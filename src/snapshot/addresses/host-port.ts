import { type IpAddress, parseIPv4, parseIPv6 } from './ip-address.ts';

/** Where a server is to be reached, in the one spelling that is accepted. */
export interface HostPort {
  /** A DNS name or an IP address, without brackets. */
  readonly host: string;
  /** Set when `host` is an IP address. */
  readonly ip: IpAddress | undefined;
  readonly port: number;
}

export type HostPortResult =
  | { readonly ok: true; readonly value: HostPort }
  | { readonly ok: false; readonly message: string };

/** `host:port`, an IPv6 host in brackets (RFC 3986 section 3.2.2). */
export function joinHostPort(host: string, port: number | string): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Reads `host:port`, an IPv6 host in brackets (RFC 3986 section 3.2.2). Strict on purpose: anything that
 * another parser could read as a different host is malformed here.
 *
 * @param defaultPort taken where the port is left out; without it the port is required.
 */
export function parseHostPort(text: string, defaultPort?: number): HostPortResult {
  const match = /^(?:\[([^\]]*)\]|([^:[\]]*))(?::(\d{1,5}))?$/.exec(text.length > 300 ? '' : text);
  if (match === null) {
    return issue('must be host:port, for example 10.0.0.1:6443, [fd00::1]:6443 or api-1.example.com:6443');
  }
  const [, bracketed, plain = '', portText] = match;
  const port = portText === undefined ? defaultPort : parsePort(portText);
  if (port === undefined) return issue('must end in a port between 1 and 65535, for example :6443');
  if (bracketed !== undefined) {
    const ip = parseIPv6(bracketed);
    if (ip === undefined) return issue('must hold an IPv6 address without a zone between the brackets');
    return { ok: true, value: { host: bracketed, ip, port } };
  }
  const ip = parseIPv4(plain);
  if (ip === undefined && !isHostName(plain)) return issue(hostNameRule);
  return { ok: true, value: { host: plain, ip, port } };
}

/**
 * Reads an origin, `https://host[:port]` without a path. No user information, path, query or fragment:
 * the address says where a server is, the request says the rest.
 */
export function parseHttpsOrigin(text: string): HostPortResult {
  const scheme = 'https://';
  if (!text.startsWith(scheme)) return issue('must begin with https://');
  const authority = text.slice(scheme.length);
  if (/[/?#@\\]/.test(authority)) {
    return issue('must be an origin, https://host:port, with no user, path, query or fragment');
  }
  return parseHostPort(authority, 443);
}

/** `host:port` of a server that is described by address or by URL. */
export function addressOf({
  address,
  url,
}: {
  readonly address?: string | undefined;
  readonly url?: string | undefined;
}): string | undefined {
  if (address !== undefined || url === undefined) return address;
  const parsed = parseHttpsOrigin(url);
  if (!parsed.ok) return undefined;
  const { host, port } = parsed.value;
  return joinHostPort(host, port);
}

const hostNameRule =
  'must name a host by its DNS name (letters, digits, hyphens and dots, no dot at the end) or by an IPv4 ' +
  'address in four plain decimal numbers';

function isHostName(text: string): boolean {
  if (text.length === 0 || text.length > 253) return false;
  const labels = text.split('.');
  if (!labels.every((label) => label.length <= 63 && /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/i.test(label)))
    return false;
  // The "ends in a number" rule of the URL standard (section 3.5): such a host is an IPv4 address to a URL
  // parser, however it is spelled (2130706433, 0x7f.1, 127.1), so it is no name here.
  return !/^(?:\d+|0x[0-9a-f]*)$/i.test(labels.at(-1) ?? '');
}

function parsePort(text: string): number | undefined {
  const port = Number(text);
  return port >= 1 && port <= 65535 && String(port) === text ? port : undefined;
}

function issue(message: string): HostPortResult {
  return { ok: false, message };
}

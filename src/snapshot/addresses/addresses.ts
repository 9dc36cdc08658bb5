import { isDns1123Subdomain } from '../../apimachinery/names.ts';

/** An IP address: 32 or 128 bits, most significant first. */
export interface IpAddress {
  readonly family: 4 | 6;
  readonly bits: bigint;
}

/** The same of one address, however it was written. */
export function ipAddressKey({ family, bits }: IpAddress): string {
  return `IPv${family} ${bits}`;
}

/**
 * Four decimal numbers, each written as short as can be. Octal (`0177.0.0.1`), hexadecimal, short (`127.1`)
 * and whole-number (`2130706433`) spellings are refused: parsers disagree on them, and a check that reads
 * them one way guards nothing when the socket reads them another way.
 */
function parseIPv4(text: string): IpAddress | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  let bits = 0n;
  for (const part of parts) {
    if (!/^(?:0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    bits = (bits << 8n) | BigInt(part);
  }
  return { family: 4, bits };
}

/** RFC 4291 section 2.2, without brackets and without a zone: what a URL writes as groups of one spelling. */
function parseIPv6(text: string): IpAddress | undefined {
  // A URL would pass over white space.
  if (!/^[\da-f:.]{2,45}$/i.test(text) || !URL.canParse(`http://[${text}]`)) return undefined;
  const [head = '', tail] = new URL(`http://[${text}]`).hostname.slice(1, -1).split('::');
  const before = head.split(':');
  const after = tail?.split(':') ?? [];
  const zeros = new Array<string>(8 - before.length - after.length).fill('0');
  const groups = tail === undefined ? before : [...before, ...zeros, ...after];
  return { family: 6, bits: BigInt(`0x${groups.map((group) => group.padStart(4, '0')).join('')}`) };
}

export function parseIpAddress(text: string): IpAddress | undefined {
  return text.includes(':') ? parseIPv6(text) : parseIPv4(text);
}

export interface Cidr {
  readonly family: 4 | 6;
  readonly bits: bigint;
  readonly prefixLength: number;
}

/** `10.0.0.0/8`, `fd00::/8`. `undefined` when it is invalid, or has bits set after its prefix. */
export function parseCidr(text: string): Cidr | undefined {
  const [address = '', length = '', ...rest] = text.split('/');
  const parsed = parseIpAddress(address);
  if (parsed === undefined || rest.length > 0 || !/^(?:0|[1-9]\d{0,2})$/.test(length)) return undefined;
  const prefixLength = Number(length);
  if (prefixLength > widthOf(parsed.family)) return undefined;
  const cidr = { family: parsed.family, bits: parsed.bits, prefixLength };
  // 10.0.0.1/8 is a mistake: it means either one address or the whole block.
  return (parsed.bits & hostMask(cidr)) === 0n ? cidr : undefined;
}

/** For blocks written in the source. @throws {TypeError} when `text` is none. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (parsed === undefined) throw new TypeError(`${text} is not a CIDR block.`);
  return parsed;
}

export function contains(block: Cidr, address: IpAddress): boolean {
  return (
    block.family === address.family && (address.bits | hostMask(block)) === (block.bits | hostMask(block))
  );
}

function hostMask(block: Cidr): bigint {
  return (1n << BigInt(widthOf(block.family) - block.prefixLength)) - 1n;
}

function widthOf(family: 4 | 6): number {
  return family === 4 ? 32 : 128;
}

/** Where a server is to be reached, in the one spelling that is accepted. */
export interface HostPort {
  /** A DNS name or an IP address, without brackets. */
  readonly host: string;
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

export const advertisedBy = [
  'peer-advertise-ip',
  'advertise-address',
  'bind-address',
  'default-interface',
] as const;
export type AdvertisedBy = (typeof advertisedBy)[number];

/** Where a router says that peers should call it, in place of the API server that it stands in front of. */
export interface AdvertisedAddress {
  /** `host:port` with an IP address; IPv6 in brackets. */
  readonly address: string;
  readonly by: AdvertisedBy;
}

/** The identity and address that a router tells to callers that may push snapshots to it. */
export interface AdvertisedServer extends AdvertisedAddress {
  readonly serverId: string;
}

/**
 * Carries `AdvertisedServer` on every response of `v1/snapshot`: pushes, and the question whether the
 * router still holds what it took. So a sync job that has just started hears it before it makes a
 * snapshot.
 */
export const advertisedAddressHeader = 'mixed-version-proxy-advertised-address';

/** True if an operator has named the address for others; the address that a router falls back to is only its guess. */
export function isGivenByOperator({ by }: Pick<AdvertisedAddress, 'by'>): boolean {
  return by === 'peer-advertise-ip' || by === 'advertise-address';
}

/** `10.0.0.1:7443; server=cp-a; by=peer-advertise-ip`. */
export function formatAdvertisedServer({ address, serverId, by }: AdvertisedServer): string {
  return `${address}; server=${serverId}; by=${by}`;
}

/** `undefined` for anything else: a name in place of an IP address, an unknown setting, an ID that none can be. */
export function parseAdvertisedServer(text: string): AdvertisedServer | undefined {
  const [, address = '', serverId = '', setting = ''] =
    /^(\S{1,64}); server=(\S{1,253}); by=([a-z-]{1,32})$/.exec(text) ?? [];
  const parsed = parseHostPort(address);
  const by = advertisedBy.find((known) => known === setting);
  if (!parsed.ok || parsed.value.ip === undefined || by === undefined || !isDns1123Subdomain(serverId)) {
    return undefined;
  }
  return { address, serverId, by };
}

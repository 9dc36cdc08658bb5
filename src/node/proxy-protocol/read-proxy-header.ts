import { isIPv4, isIPv6, SocketAddress } from 'node:net';

/** Who has connected to the load balancer. */
export interface ClientAddress {
  /** An IP address, IPv6 without brackets. */
  readonly address: string;
  readonly port: number;
}

/** Why a connection of a load balancer is refused. */
export type ProxyHeaderIssue = 'no_header' | 'malformed' | 'too_long';

export type ProxyHeaderReading =
  /** It may become a header. */
  | { readonly kind: 'partial' }
  /** `client` is `undefined` where the connection's own address counts: a health check, or another kind of address. */
  | { readonly kind: 'header'; readonly length: number; readonly client: ClientAddress | undefined }
  | { readonly kind: 'issue'; readonly issue: ProxyHeaderIssue };

/** Section numbers are those of HAProxy's proxy-protocol.txt. Section 2.2. */
const signature = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
const version1 = Buffer.from('PROXY ', 'latin1');
/** With CRLF (section 2.1). */
const longestVersion1 = 107;
/** Bytes of a version 2 header after its first 16. The format allows 65,535; real ones have some hundreds. */
const longestVersion2 = 4_096;

const partial: ProxyHeaderReading = { kind: 'partial' };

/** Reads the header at the beginning of a connection, of either version. Pure. */
export function readProxyHeader(bytes: Buffer): ProxyHeaderReading {
  if (startsLike(bytes, signature)) return bytes.length < 16 ? partial : readVersion2(bytes);
  if (startsLike(bytes, version1)) return readVersion1(bytes);
  return faulty('no_header');
}

/** Whether the bytes that there are so far are those of `prefix`. */
function startsLike(bytes: Buffer, prefix: Buffer): boolean {
  const length = Math.min(bytes.length, prefix.length);
  return bytes.subarray(0, length).equals(prefix.subarray(0, length));
}

function readVersion1(bytes: Buffer): ProxyHeaderReading {
  const end = bytes.subarray(0, longestVersion1).indexOf('\r\n', 0, 'latin1');
  if (end === -1) return bytes.length < longestVersion1 ? partial : faulty('too_long');
  const length = end + 2;
  const [, protocol, ...rest] = bytes.toString('latin1', 0, end).split(' ');
  // What follows UNKNOWN in its line is ignored (HAProxy, doc/proxy-protocol.txt section 2.1).
  if (protocol === 'UNKNOWN') return { kind: 'header', length, client: undefined };
  const isOfFamily = { TCP4: isIPv4, TCP6: isIPv6WithoutZone }[protocol ?? ''];
  const [source = '', destination = '', sourcePort = '', destinationPort = ''] = rest;
  const isValid =
    rest.length === 4 &&
    isOfFamily?.(source) === true &&
    isOfFamily(destination) &&
    isPort(sourcePort) &&
    isPort(destinationPort);
  if (!isValid) return faulty('malformed');
  return {
    kind: 'header',
    length,
    client: { address: shortest(source), port: Number(sourcePort) },
  };
}

function readVersion2(bytes: Buffer): ProxyHeaderReading {
  const [versionAndCommand = 0, familyAndTransport = 0] = bytes.subarray(12, 14);
  const command = versionAndCommand & 0x0f;
  const family = familyAndTransport >> 4;
  // Other values are to be refused (section 2.2).
  if (versionAndCommand >> 4 !== 2 || command > 1) return faulty('malformed');
  if (family > 3 || (familyAndTransport & 0x0f) > 2) return faulty('malformed');
  const size = bytes.readUInt16BE(14);
  if (size > longestVersion2) return faulty('too_long');
  const length = 16 + size;
  if (bytes.length < length) return partial;
  // LOCAL: the load balancer speaks for itself, as in a health check. Its addresses are to be ignored.
  if (command === 0) return { kind: 'header', length, client: undefined };
  // The type-length-value fields after the addresses are not read: no decision needs them.
  const addresses = bytes.subarray(16, length);
  if (addresses.length < ([0, 12, 36, 216][family] as number)) return faulty('malformed');
  return { kind: 'header', length, client: addressIn(addresses, family) };
}

/** Paths of local sockets (family 3) are no addresses. */
function addressIn(addresses: Buffer, family: number): ClientAddress | undefined {
  if (family === 1) return { address: addresses.subarray(0, 4).join('.'), port: addresses.readUInt16BE(8) };
  if (family !== 2) return undefined;
  const groups = Array.from({ length: 8 }, (_, index) => addresses.readUInt16BE(index * 2).toString(16));
  return { address: shortest(groups.join(':')), port: addresses.readUInt16BE(32) };
}

/** RFC 5952; an IPv4 address that is written as IPv6 is one of IPv4. */
function shortest(address: string): string {
  if (isIPv4(address)) return address;
  return new SocketAddress({ address, family: 'ipv6' }).address.replace(/^::ffff:(?=\d+\.)/i, '');
}

function isIPv6WithoutZone(text: string): boolean {
  return isIPv6(text) && !text.includes('%');
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9]\d{0,4})$/.test(text) && Number(text) <= 65_535;
}

function faulty(issue: ProxyHeaderIssue): ProxyHeaderReading {
  return { kind: 'issue', issue };
}

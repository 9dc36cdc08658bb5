import {
  type Cidr,
  cidr,
  contains,
  type IpAddress,
  parseCidr,
  parseHostPort,
  parseHttpsOrigin,
} from './addresses.ts';

export interface AddressPolicyOptions {
  /** Peers on this machine: for demonstrations, and for routers that stand beside their servers. Default false. */
  readonly allowLoopback?: boolean | undefined;
  /**
   * When given, an IP address must lie in one of these blocks. A block that lies within a refused range
   * (`169.254.10.0/24`) opens that part of it; a wider one (`0.0.0.0/0`) opens nothing.
   */
  readonly allowedCIDRs?: readonly string[] | undefined;
}

/** Which addresses of a snapshot a router will ever dial. Made by `createAddressPolicy`. */
export interface AddressPolicy {
  readonly allowLoopback: boolean;
  readonly allowedCIDRs: readonly Cidr[] | undefined;
}

/**
 * @throws {TypeError} naming every block that is no CIDR.
 *
 * @example
 * ```ts
 * const addressPolicy = createAddressPolicy({ allowedCIDRs: ['10.0.0.0/8'] });
 * ```
 */
export function createAddressPolicy(options: AddressPolicyOptions = {}): AddressPolicy {
  const { allowLoopback = false, allowedCIDRs } = options;
  const issues: string[] = [];
  const blocks = allowedCIDRs?.flatMap((text) => {
    const block = parseCidr(text);
    if (block === undefined) issues.push(`${text} is not a CIDR block such as 10.0.0.0/8`);
    return block ?? [];
  });
  if (issues.length > 0) throw new TypeError(`The address policy is malformed: ${issues.join('; ')}.`);
  return Object.freeze({ allowLoopback, allowedCIDRs: blocks });
}

/** A range that no API server lives in, and whether a setting may open it. */
interface RefusedRange {
  readonly block: Cidr;
  readonly name: string;
  readonly kind: 'never' | 'loopback' | 'special';
}

function refused(kind: RefusedRange['kind'], name: string, ...blocks: string[]): RefusedRange[] {
  return blocks.map((block) => ({ block: cidr(block), name, kind }));
}

/**
 * First match wins. A snapshot that names one of these would turn the router, with its front-proxy
 * certificate, against its own machine or its cloud (CVE-2022-3294 was a hole of this kind).
 */
const refusedRanges: readonly RefusedRange[] = [
  // AWS, GCP, Azure and OpenStack; AWS and GCP on IPv6; Alibaba Cloud; Azure's wire server; Oracle Cloud.
  ...refused('never', 'a cloud metadata address', '169.254.169.254/32', 'fd00:ec2::254/128'),
  ...refused('never', 'a cloud metadata address', 'fd20:ce::254/128', '100.100.100.200/32'),
  ...refused('never', 'a cloud metadata address', '168.63.129.16/32', '192.0.0.192/32'),
  // 0.0.0.0/8 is "this network" (RFC 1122 section 3.2.1.3); Linux connects 0.0.0.0 and :: to the machine itself.
  ...refused('never', 'an unspecified address', '0.0.0.0/8', '::/128'),
  ...refused('never', 'a multicast address', '224.0.0.0/4', 'ff00::/8'),
  ...refused('never', 'a reserved address', '240.0.0.0/4'),
  ...refused('loopback', 'a loopback address', '127.0.0.0/8', '::1/128'),
  ...refused('special', 'a link-local address', '169.254.0.0/16', 'fe80::/10'),
];

const loopbackNames = new Set(['localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback']);
const metadataNames = new Set([
  'metadata',
  'metadata.google.internal',
  'instance-data',
  'instance-data.ec2.internal',
]);

/**
 * Reason why a router may not dial `address` (`host:port`, or `https://host[:port]`). Pure.
 *
 * A DNS name passes unless it is known to mean this machine or a metadata service: what it resolves to must
 * be checked with `checkIpAddress` at the moment of connecting, or a changed DNS response bypasses this check.
 *
 * @returns why not, as a sentence without its subject; `undefined` when it may.
 */
export function checkServerAddress(address: string, policy: AddressPolicy): string | undefined {
  const parsed = address.includes('://') ? parseHttpsOrigin(address) : parseHostPort(address);
  if (!parsed.ok) return parsed.message;
  const { host, ip } = parsed.value;
  return ip === undefined ? checkHostName(host.toLowerCase(), policy) : checkIpAddress(ip, policy);
}

/** The part of the policy that concerns an IP address: for addresses in a snapshot, and for resolved names. */
export function checkIpAddress(address: IpAddress, policy: AddressPolicy): string | undefined {
  const ip = embeddedIPv4(address) ?? address;
  const listed = policy.allowedCIDRs?.filter((block) => contains(block, ip) || contains(block, address));
  const range = refusedRanges.find(({ block }) => contains(block, ip));
  if (range !== undefined) {
    const opened = listed?.some((block) => liesWithin(block, range.block)) === true;
    const allowed = range.kind === 'loopback' && policy.allowLoopback;
    if (range.kind !== 'never' && (opened || allowed)) return undefined;
    const hint = range.kind === 'loopback' ? ' (for tests on one machine: --allow-loopback-peers)' : '';
    return `is ${range.name}, which no API server has${hint}`;
  }
  return listed?.length === 0 ? 'lies outside the allowed address blocks' : undefined;
}

/** For blocks that have an address in common: then one lies within the other, and prefix lengths tell which. */
function liesWithin(block: Cidr, range: Cidr): boolean {
  return block.family === range.family && block.prefixLength >= range.prefixLength;
}

function checkHostName(host: string, policy: AddressPolicy): string | undefined {
  // RFC 6761 section 6.3: everything under localhost is loopback.
  const loopback = loopbackNames.has(host) || host.endsWith('.localhost');
  if (loopback && !policy.allowLoopback) return 'is a name of this machine, which no other API server has';
  return metadataNames.has(host) ? 'is the name of a cloud metadata service' : undefined;
}

const mapped = cidr('::ffff:0:0/96');
const compatible = cidr('::/96');
const translated = cidr('64:ff9b::/96');
const sixToFour = cidr('2002::/16');

/**
 * The IPv4 address that an IPv6 address stands for: IPv4-mapped and the old IPv4-compatible form (RFC 4291
 * section 2.5.5), NAT64 (RFC 6052) and 6to4 (RFC 3056). A refused address stays refused in these clothes.
 */
export function embeddedIPv4(address: IpAddress): IpAddress | undefined {
  if (contains(sixToFour, address)) return { family: 4, bits: (address.bits >> 80n) & 0xffffffffn };
  const isUnspecifiedOrLoopback = address.bits <= 1n;
  const embeds = contains(mapped, address) || contains(translated, address);
  if (!embeds && (!contains(compatible, address) || isUnspecifiedOrLoopback)) return undefined;
  return { family: 4, bits: address.bits & 0xffffffffn };
}

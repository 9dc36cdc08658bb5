import assert from 'node:assert/strict';
import { BlockList, isIPv4 } from 'node:net';
import fc from 'fast-check';
import { checkServerAddress, createAddressPolicy } from '../../../src/snapshot/addresses/address-policy.ts';
import { fuzz } from '../fuzz-target.ts';

/** Addresses that no API server has, by the clouds' own pages and the IANA registries; not read from the code that is tested. */
const refusedBlocks = {
  never: [
    ...['169.254.169.254/32', '100.100.100.200/32', '168.63.129.16/32', '192.0.0.192/32', '0.0.0.0/8'],
    ...['224.0.0.0/4', '240.0.0.0/4', 'fd00:ec2::254/128', 'fd20:ce::254/128', '::/128', 'ff00::/8'],
  ],
  loopback: ['127.0.0.0/8', '::1/128'],
  linkLocal: ['169.254.0.0/16', 'fe80::/10'],
} as const;
const allBlocks = Object.values(refusedBlocks).flat();
/** Networks that an operator may allow, sensible or not. */
const allowable = [
  ...['10.0.0.0/8', '0.0.0.0/0', '::/0', '127.0.0.0/8', '127.0.0.1/32', '::1/128', '0.0.0.0/1'],
  ...['169.254.10.0/24', '169.254.0.0/16', '169.254.169.254/32', '169.254.0.0/15', 'fe80::/64', 'fd00::/8'],
  ...['100.100.100.200/32', '240.0.0.0/8', '::ffff:0:0/96'],
];

function blockList(...blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [address = '', length] = block.split('/');
    list.addSubnet(address, Number(length), isIPv4(address) ? 'ipv4' : 'ipv6');
  }
  return list;
}

/** BlockList reads an IPv4 address in IPv6 as the IPv4 address; here it stands for what it is written as. */
const isIn = (block: string, address: string): boolean =>
  isIPv4(address) === isIPv4(block.split('/')[0] ?? '') &&
  blockList(block).check(address, isIPv4(address) ? 'ipv4' : 'ipv6');

const bitsOf = (address: string): bigint =>
  isIPv4(address)
    ? address.split('.').reduce((sum, part) => sum * 256n + BigInt(part), 0n)
    : BigInt(`0x${groupsOf(address).join('')}`);

/** Eight groups of four digits. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = Array<string>(8 - before.length - after.length).fill('0');
  return [...before, ...zeros, ...after].map((group) => group.padStart(4, '0'));
}

const ipv4 = (bits: bigint): string =>
  [24n, 16n, 8n, 0n].map((shift) => String((bits >> shift) & 255n)).join('.');
const ipv6 = (bits: bigint): string =>
  (bits.toString(16).padStart(32, '0').match(/.{4}/g) ?? [])
    .map((group) => group.replace(/^0{1,3}/, ''))
    .join(':');

/** Just inside of a block and just outside of it, where a wrong one shows. */
const edges: readonly string[] = allBlocks.flatMap((block) => {
  const [address = '', length] = block.split('/');
  const isFour = isIPv4(address);
  const size = 1n << BigInt((isFour ? 32 : 128) - Number(length));
  const first = bitsOf(address);
  const end = 1n << (isFour ? 32n : 128n);
  const points = [first - 1n, first, first + 1n, first + size - 1n, first + size, first + size / 2n];
  // `::2` and on are IPv4 addresses in the old compatible form.
  const isItself = (bits: bigint): boolean => isFour || bits < 2n || bits >= 1n << 32n;
  return points.filter((bits) => bits >= 0n && bits < end && isItself(bits)).map(isFour ? ipv4 : ipv6);
});

/** How an IPv4 address can be dressed as IPv6 (RFC 4291 section 2.5.5, RFC 6052, RFC 3056). */
const dresses: Readonly<Record<string, (address: string) => string>> = {
  none: (address) => address,
  mapped: (address) => `::ffff:${address}`,
  'mapped in hex': (address) => ipv6((0xffffn << 32n) | bitsOf(address)),
  // Below 2 they are addresses of IPv6 itself.
  compatible: (address) => (bitsOf(address) < 2n ? address : `::${address}`),
  NAT64: (address) => `64:ff9b::${address}`,
  '6to4': (address) => ipv6((0x2002n << 112n) | (bitsOf(address) << 80n) | 1n),
};
const forms: Readonly<Record<string, (host: string) => string>> = {
  'host and port': (host) => `${host}:6443`,
  'upper case': (host) => `${host.toUpperCase()}:443`,
  origin: (host) => `https://${host}:6443`,
  'origin without a port': (host) => `https://${host}`,
};

/** Names of this machine (RFC 6761 section 6.3, /etc/hosts of Debian and Red Hat), and of metadata services. */
const names = {
  ofThisMachine: ['localhost', 'a.localhost', 'localhost.localdomain', 'ip6-localhost', 'ip6-loopback'],
  ofMetadata: ['metadata', 'metadata.google.internal', 'instance-data', 'instance-data.ec2.internal'],
  ofOthers: ['api-1.example.com', 'localhost.example.com', 'notlocalhost', 'metadata.example.com'],
} as const;

interface Input {
  readonly address: string;
  readonly dress: string;
  readonly form: string;
  readonly allowLoopback: boolean;
  readonly allowed: readonly string[] | null;
}

/** By the page on addresses. @param worn the address as it is written, @param address what it stands for */
function mayBeDialled(worn: string, address: string, { allowLoopback, allowed }: Input): boolean {
  const isOneOf = (list: readonly string[]): boolean => list.includes(address);
  if (isOneOf(names.ofThisMachine)) return allowLoopback;
  if (isOneOf(names.ofMetadata) || isOneOf(names.ofOthers)) return isOneOf(names.ofOthers);
  const listed = allowed?.filter((block) => isIn(block, worn) || isIn(block, address));
  const kinds = Object.entries(refusedBlocks) as [keyof typeof refusedBlocks, readonly string[]][];
  for (const [kind, blocks] of kinds) {
    const range = blocks.find((block) => isIn(block, address));
    if (range === undefined) continue;
    if (kind === 'never') return false;
    const [net = '', length] = range.split('/');
    // A block that lies within the range opens that part of it; a wider one opens nothing.
    const isOpened = listed?.some((block) => {
      const [other = '', otherLength] = block.split('/');
      return isIPv4(other) === isIPv4(net) && Number(otherLength) >= Number(length);
    });
    return isOpened === true || (kind === 'loopback' && allowLoopback);
  }
  return listed === undefined || listed.length > 0;
}

fuzz<Input>({
  name: 'addresses',
  runs: 1_000,
  arbitrary: fc.record({
    address: fc.oneof(
      { weight: 3, arbitrary: fc.constantFrom(...edges) },
      fc.ipV4(),
      fc.constantFrom(...Object.values(names).flat()),
      fc.constantFrom('10.0.0.1', '203.0.113.7', '2001:db8::a', 'fd00::1', '169.254.10.9', '127.0.0.1'),
    ),
    dress: fc.constantFrom(...Object.keys(dresses)),
    form: fc.constantFrom(...Object.keys(forms)),
    allowLoopback: fc.boolean(),
    allowed: fc.oneof(
      { weight: 2, arbitrary: fc.constant(null) },
      fc.array(fc.constantFrom(...allowable), { maxLength: 2 }),
    ),
  }),
  holds(input) {
    const { address, dress, form, allowLoopback, allowed } = input;
    const worn = isIPv4(address) ? (dresses[dress]?.(address) ?? address) : address;
    const written = forms[form]?.(worn.includes(':') ? `[${worn}]` : worn) ?? '';
    const policy = createAddressPolicy({ allowLoopback, allowedCIDRs: allowed ?? undefined });
    const refusal = checkServerAddress(written, policy);
    assert.equal(refusal === undefined, mayBeDialled(worn, address, input), `${written}: ${refusal}`);
  },
});

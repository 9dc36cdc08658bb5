import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type AddressPolicyOptions, checkServerAddress, createAddressPolicy } from './address-policy.ts';

const strictPolicy = createAddressPolicy();

function refusal(address: string, options: AddressPolicyOptions = {}): string | undefined {
  return checkServerAddress(address, createAddressPolicy(options));
}

for (const address of [
  '10.0.0.1:6443',
  '192.168.1.2:443',
  '203.0.113.7:6443',
  '[fd00::1]:6443',
  '[2001:db8::a:b]:6443',
  '[::ffff:10.0.0.1]:6443',
  'api-1.example.com:6443',
  'API-1.Example.com:6443',
  'xn--bcher-kva.example:6443',
  '3com.example:6443',
  'https://10.0.0.1:6443',
  'https://api-1.example.com',
]) {
  test(`an ordinary address passes: ${address}`, () => {
    assert.equal(checkServerAddress(address, strictPolicy), undefined);
  });
}

const refusedRanges: readonly (readonly [address: string, why: RegExp])[] = [
  ['127.0.0.1:6443', /loopback/],
  ['127.255.255.254:6443', /loopback/],
  ['[::1]:6443', /loopback/],
  ['[0:0:0:0:0:0:0:1]:6443', /loopback/],
  ['[::ffff:127.0.0.1]:6443', /loopback/],
  ['[::ffff:7f00:1]:6443', /loopback/],
  ['[::127.0.0.1]:6443', /loopback/],
  ['[64:ff9b::127.0.0.1]:6443', /loopback/],
  ['[2002:7f00:1::]:6443', /loopback/],
  ['https://127.0.0.1:6443', /loopback/],
  ['localhost:6443', /name of this machine/],
  ['LOCALHOST:6443', /name of this machine/],
  ['api.localhost:6443', /name of this machine/],
  ['ip6-localhost:6443', /name of this machine/],
  ['169.254.0.1:6443', /link-local/],
  ['[fe80::1]:6443', /link-local/],
  ['[febf::1]:6443', /link-local/],
  ['[::ffff:169.254.1.1]:6443', /link-local/],
  ['169.254.169.254:80', /metadata/],
  ['[::ffff:169.254.169.254]:80', /metadata/],
  ['[::ffff:a9fe:a9fe]:80', /metadata/],
  ['[fd00:ec2::254]:80', /metadata/],
  ['[fd00:0ec2:0:0:0:0:0:0254]:80', /metadata/],
  ['metadata.google.internal:80', /metadata/],
  ['100.100.100.200:80', /metadata/],
  ['168.63.129.16:80', /metadata/],
  ['0.0.0.0:6443', /unspecified/],
  ['0.1.2.3:6443', /unspecified/],
  ['[::]:6443', /unspecified/],
  ['[::ffff:0.0.0.0]:6443', /unspecified/],
  ['224.0.0.1:6443', /multicast/],
  ['[ff02::1]:6443', /multicast/],
  ['255.255.255.255:6443', /reserved/],
  ['240.0.0.1:6443', /reserved/],
];
for (const [address, why] of refusedRanges) {
  test(`an address that no API server has is refused: ${address}`, () => {
    assert.match(checkServerAddress(address, strictPolicy) ?? 'accepted', why);
  });
}

for (const address of [
  // Spellings of 127.0.0.1 that inet_aton, and with it many a resolver, understands.
  '0177.0.0.1:6443',
  '0x7f.0.0.1:6443',
  '0x7f000001:6443',
  '2130706433:6443',
  '017700000001:6443',
  '127.1:6443',
  '127.0.1:6443',
  '127.0.0.0x1:6443',
  '127.0.0.01:6443',
  '127.0.0.1.:6443',
  'localhost.:6443',
  '1.2.3.256:6443',
  '1.2.3.4.5:6443',
  // Full-width digits and dots, which IDNA maps to plain ones.
  '１２７.0.0.1:6443',
  '127。0。0。1:6443',
  'ⓛocalhost:6443',
  '127.0.0.1%00.example.com:6443',
  '%31%32%37.0.0.1:6443',
  // The host of these is in doubt.
  '10.0.0.1:6443@evil.example:6443',
  'evil.example#@10.0.0.1:6443',
  '10.0.0.1/path:6443',
  '10.0.0.1\\evil.example:6443',
  '10.0.0.1 :6443',
  ' 10.0.0.1:6443',
  '10.0.0.1:6443\n',
  'a_b.example:6443',
  '-a.example:6443',
  'a..example:6443',
  // IPv6.
  '::1:6443',
  '[::1',
  '[fe80::1%eth0]:6443',
  '[fe80::1%25eth0]:6443',
  '[::ffff:127.0.0.01]:6443',
  '[1::2::3]:6443',
  '[1:2:3:4:5:6:7]:6443',
  '[1:2:3:4:5:6:7:8:9]:6443',
  '[1:2:3:4:5:6:7::8]:0',
  '[12345::]:6443',
  '[127.0.0.1]:6443',
  '[v1.fe80::a]:6443',
  // Ports.
  '10.0.0.1',
  '10.0.0.1:',
  '10.0.0.1:0',
  '10.0.0.1:65536',
  '10.0.0.1:06443',
  '10.0.0.1:+6443',
  '10.0.0.1:0x192b',
  '10.0.0.1:6443:6443',
  ':6443',
  '',
  // Origins.
  'http://10.0.0.1:6443',
  'HTTPS://10.0.0.1:6443',
  'https://10.0.0.1:6443/',
  'https://user@10.0.0.1:6443',
  'https://10.0.0.1:6443?x',
  'https://10.0.0.1:6443#x',
  'https://2130706433',
  'https://',
]) {
  test(`a spelling that parsers disagree on is malformed: ${JSON.stringify(address)}`, () => {
    // Malformed is malformed: no setting lets it pass.
    const open = { allowLoopback: true, allowedCIDRs: ['0.0.0.0/0', '::/0', '127.0.0.0/8'] };
    assert.match(refusal(address, open) ?? 'accepted', /^must /);
  });
}

test('loopback peers pass where they are allowed, by number and by name', () => {
  for (const address of [
    '127.0.0.1:6443',
    '[::1]:6443',
    '[::ffff:127.0.0.1]:6443',
    'localhost:6443',
    'a.localhost:1',
  ]) {
    assert.equal(refusal(address, { allowLoopback: true }), undefined, address);
  }
  for (const address of ['169.254.1.1:6443', '0.0.0.0:6443', '169.254.169.254:80', '[ff02::1]:6443']) {
    assert.notEqual(refusal(address, { allowLoopback: true }), undefined, address);
  }
});

test('with listed blocks, an address outside them is refused, and names are left to the check at connect', () => {
  const options = { allowedCIDRs: ['10.1.0.0/16', 'fd00:1::/32'] };
  assert.equal(refusal('10.1.2.3:6443', options), undefined);
  assert.equal(refusal('[::ffff:10.1.2.3]:6443', options), undefined);
  assert.equal(refusal('[fd00:1::5]:6443', options), undefined);
  assert.match(refusal('10.2.0.1:6443', options) ?? '', /outside the allowed/);
  assert.match(refusal('[fd00:2::5]:6443', options) ?? '', /outside the allowed/);
  assert.equal(refusal('api-1.example.com:6443', options), undefined);
});

test('a block within a refused range opens that part of it; a wider one opens nothing', () => {
  assert.equal(refusal('169.254.10.1:6443', { allowedCIDRs: ['169.254.10.0/24'] }), undefined);
  assert.equal(refusal('127.0.0.5:6443', { allowedCIDRs: ['127.0.0.0/8'] }), undefined);
  assert.match(refusal('127.0.0.5:6443', { allowedCIDRs: ['0.0.0.0/0', '::/0'] }) ?? '', /loopback/);
  assert.match(refusal('[64:ff9b::127.0.0.1]:1', { allowedCIDRs: ['64:ff9b::/96'] }) ?? '', /loopback/);
});

test('no listed block opens a metadata, unspecified or multicast address', () => {
  for (const [address, block] of [
    ['169.254.169.254:80', '169.254.169.254/32'],
    ['[fd00:ec2::254]:80', 'fd00:ec2::/32'],
    ['0.0.0.0:6443', '0.0.0.0/32'],
    ['224.0.0.1:6443', '224.0.0.1/32'],
  ] as const) {
    assert.notEqual(refusal(address, { allowedCIDRs: [block] }), undefined, address);
  }
});

test('a malformed policy is refused with every error named', () => {
  assert.throws(
    () =>
      createAddressPolicy({
        allowedCIDRs: ['10.0.0.0/8', '10.0.0.1/8', '10.0.0.0', 'x/8'],
      }),
    (error: Error) => {
      for (const part of ['10.0.0.1/8', '10.0.0.0 is', 'x/8']) {
        assert.ok(error.message.includes(part), `${part} in ${error.message}`);
      }
      return error instanceof TypeError;
    },
  );
});

test('every loopback address is refused in every IPv6 form that embeds it', () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const prefix = fc.constantFrom('::ffff:', '::', '64:ff9b::');
  fc.assert(
    fc.property(octet, octet, octet, prefix, (b, c, d, start) => {
      assert.notEqual(checkServerAddress(`[${start}127.${b}.${c}.${d}]:6443`, strictPolicy), undefined);
    }),
  );
});

test('the check never throws, and whatever passes is a host to a URL parser under the same name', () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.string(), fc.webAuthority({ withPort: true, withIPv4: true, withIPv6: true })),
      (address) => {
        if (checkServerAddress(address, strictPolicy) !== undefined || address.includes('://')) return;
        const url = new URL(`https://${address}`);
        if (!address.startsWith('['))
          assert.equal(url.hostname, address.slice(0, address.lastIndexOf(':')).toLowerCase());
      },
    ),
    { numRuns: 500 },
  );
});

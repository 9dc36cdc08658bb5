import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  chooseHostAddress,
  defaultRouteInterfaces,
  isGlobalUnicast,
  isLoopback,
  resolveAdvertisedAddress,
} from './default-interface.ts';

const ipv4Table = [
  'Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT',
  'docker0\t000011AC\t00000000\t0001\t0\t0\t0\t0000FFFF\t0\t0\t0',
  'eth1\t00000000\t0100000A\t0003\t0\t0\t100\t00000000\t0\t0\t0',
  'eth0\t00000000\t0101A8C0\t0003\t0\t0\t200\t00000000\t0\t0\t0',
  '',
].join('\n');
const zeros = '0'.repeat(32);
const ipv6Table = [
  `fd000000000000000000000000000000 40 ${zeros} 00 ${zeros} 00000100 00000001 00000000 00000001     eth0`,
  `${zeros} 00 ${zeros} 00 fe800000000000000000000000000001 00000400 00000001 00000000 00000003     eth2`,
  `${zeros} 00 ${zeros} 00 ${zeros} ffffffff 00000001 00000000 00200200       lo`,
  '',
].join('\n');

const address = (name: string, text: string, internal = false) => ({
  interface: name,
  address: text,
  internal,
});
const hostAddresses = [
  address('lo', '127.0.0.1', true),
  address('docker0', '172.17.0.1'),
  address('eth0', '192.168.1.5'),
  address('eth1', '169.254.7.7'),
  address('eth1', '10.0.0.7'),
  address('eth1', 'fd00::7'),
];

describe("the host's default interface", () => {
  it('is read from the default routes, in the order of the table, without the loopback one', () => {
    assert.deepEqual(defaultRouteInterfaces(ipv4Table, ipv6Table), ['eth1', 'eth0', 'eth2']);
    assert.deepEqual(defaultRouteInterfaces('', ''), []);
  });

  it('gives its first global unicast address, not a link-local one and not that of another interface', () => {
    assert.equal(
      chooseHostAddress({ addresses: hostAddresses, defaultRouteInterfaces: ['eth1', 'eth0'] }),
      '10.0.0.7',
    );
  });

  it('prefers IPv4 on a later route to IPv6 on the first', () => {
    const addresses = [address('eth1', 'fd00::7'), address('eth0', '192.168.1.5')];
    assert.equal(chooseHostAddress({ addresses, defaultRouteInterfaces: ['eth1', 'eth0'] }), '192.168.1.5');
  });

  it('is passed over for any global unicast address where no routing table can be read', () => {
    assert.equal(chooseHostAddress({ addresses: hostAddresses, defaultRouteInterfaces: [] }), '172.17.0.1');
    const onlyIpv6 = [address('lo', '::1', true), address('eth0', 'fe80::1'), address('eth0', 'fd00::2')];
    assert.equal(chooseHostAddress({ addresses: onlyIpv6, defaultRouteInterfaces: [] }), 'fd00::2');
    assert.equal(
      chooseHostAddress({ addresses: [address('lo', '127.0.0.1', true)], defaultRouteInterfaces: [] }),
      undefined,
    );
  });

  it('tells addresses that others can call from those that they cannot', () => {
    for (const usable of ['10.0.0.1', '8.8.8.8', 'fd00::1', '2001:db8::1']) {
      assert.ok(isGlobalUnicast(usable), usable);
    }
    for (const useless of [
      '0.0.0.0',
      '127.0.0.1',
      '169.254.1.1',
      '224.0.0.1',
      '255.255.255.255',
      '::',
      '::1',
      '::ffff:127.0.0.1',
    ]) {
      assert.ok(!isGlobalUnicast(useless), useless);
    }
    assert.ok(!isGlobalUnicast('fe80::1') && !isGlobalUnicast('ff02::1') && !isGlobalUnicast('host'));
    assert.ok(
      isLoopback('127.9.9.9') &&
        isLoopback('::1') &&
        isLoopback('::ffff:127.0.0.1') &&
        !isLoopback('10.0.0.1') &&
        !isLoopback('x'),
    );
    // 6to4, NAT64 and IPv4-compatible addresses of 127.0.0.1: to reach them is not to stay on the host.
    for (const elsewhere of ['2002:7f00:1::1', '64:ff9b::7f00:1', '::7f00:1']) {
      assert.ok(!isLoopback(elsewhere), elsewhere);
    }
  });
});

describe('the advertised address', () => {
  const network = { addresses: hostAddresses, defaultRouteInterfaces: ['eth1'] };
  const base = { advertise: {}, serving: { bindAddress: '0.0.0.0', port: 6443 } };
  const bound = (bindAddress: string) => ({ bindAddress, port: 6443 });

  it('falls back from one setting to the next and last to the default interface', () => {
    const advertise = { peerIP: '10.1.1.1', peerPort: 7443, address: '10.2.2.2' };
    const serving = bound('10.3.3.3');
    const resolve = (settings: Parameters<typeof resolveAdvertisedAddress>[0]) =>
      resolveAdvertisedAddress(settings, network);
    assert.deepEqual(resolve({ advertise, serving }), {
      host: '10.1.1.1',
      port: 7443,
      source: 'peer-advertise-ip',
    });
    assert.deepEqual(resolve({ advertise: { address: advertise.address }, serving }), {
      host: '10.2.2.2',
      port: 6443,
      source: 'advertise-address',
    });
    assert.deepEqual(resolve({ advertise: {}, serving }), {
      host: '10.3.3.3',
      port: 6443,
      source: 'bind-address',
    });
    assert.deepEqual(resolve(base), { host: '10.0.0.7', port: 6443, source: 'default-interface' });
  });

  it('passes over unspecified addresses, however they are written', () => {
    for (const unspecified of ['0.0.0.0', '::', '0:0:0:0:0:0:0:0']) {
      const settings = { advertise: { address: unspecified }, serving: bound(unspecified) };
      assert.equal(resolveAdvertisedAddress(settings, network)?.source, 'default-interface', unspecified);
    }
  });

  it('stays on loopback where nothing else is listened on', () => {
    assert.equal(
      resolveAdvertisedAddress({ ...base, serving: bound('127.0.0.1') }, network)?.host,
      '127.0.0.1',
    );
  });

  it('is unknown on a host without a usable address', () => {
    assert.equal(resolveAdvertisedAddress(base, { addresses: [], defaultRouteInterfaces: [] }), undefined);
  });
});

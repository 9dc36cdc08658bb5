import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { test } from 'node:test';
import { parseIpAddress } from '../../snapshot/addresses/addresses.ts';
import { isLocalServerAddress, leadsToLocalServer } from '../process/local-server-id.ts';

const ofHost = ['127.0.0.1', '10.0.0.1', 'fd00::1', 'fe80::1'].map(parseIpAddress);
const ca = { path: '', pem: '' };

function leads(address: string, origin: string, bindAddress = '0.0.0.0'): boolean {
  const local = { origin, serverName: 'kubernetes.default.svc', ca };
  return leadsToLocalServer(address, { local, settings: { serving: { bindAddress, port: 6443 } } }, (ip) =>
    ofHost.some((each) => each?.family === ip.family && each.bits === ip.bits),
  );
}

test('where --local-server is on loopback, every address of this host with its port leads to it', () => {
  for (const origin of ['https://127.0.0.1:6444', 'https://localhost:6444', 'https://[::1]:6444']) {
    assert.ok(leads('10.0.0.1:6444', origin), origin);
    assert.ok(leads('[FD00:0::1]:6444', origin), origin);
    assert.ok(!leads('10.0.0.2:6444', origin), 'another host');
    assert.ok(!leads('10.0.0.1:6445', origin), 'another port');
  }
});

test('any other --local-server is at its own address alone', () => {
  assert.ok(leads('10.0.0.9:6444', 'https://10.0.0.9:6444'));
  assert.ok(leads('API.example.com:6444', 'https://api.example.com:6444'));
  assert.ok(!leads('10.0.0.1:6444', 'https://10.0.0.9:6444'));
});

test('an address where this router listens leads to its local server', () => {
  assert.ok(leads('10.0.0.1:6443', 'https://127.0.0.1:6444'));
  assert.ok(leads('10.0.0.1:6443', 'https://127.0.0.1:6444', '10.0.0.1'));
  assert.ok(!leads('10.0.0.1:6443', 'https://127.0.0.1:6444', '127.0.0.1'), 'it does not listen there');
  assert.ok(!leads('10.0.0.2:6443', 'https://127.0.0.1:6444'), 'another router');
});

test('behind address translation, and at names, nothing is known', () => {
  assert.ok(!leads('203.0.113.1:6444', 'https://127.0.0.1:6444'));
  assert.ok(!leads('cp-a.example.com:6444', 'https://127.0.0.1:6444'));
  assert.ok(!leads('noise', 'https://127.0.0.1:6444'));
});

test('the addresses of this host are those that it has', () => {
  const local = { origin: 'https://127.0.0.1:6444', serverName: 'kubernetes.default.svc', ca };
  const isLocal = isLocalServerAddress({
    local,
    settings: { serving: { bindAddress: '127.0.0.1', port: 6443 } },
  });
  for (const entry of Object.values(networkInterfaces()).flatMap((entries) => entries ?? [])) {
    const host = entry.family === 'IPv6' ? `[${entry.address}]` : entry.address;
    assert.ok(isLocal(`${host}:6444`), host);
  }
  assert.ok(!isLocal('192.0.2.1:6444'), 'an address for documentation (RFC 5737)');
});

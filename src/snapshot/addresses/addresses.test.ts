import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAdvertisedServer, parseAdvertisedServer } from './addresses.ts';

test('what a router says of itself comes back from the header line as it went in', () => {
  for (const address of ['10.0.0.1:7443', '[fd00::1]:7443']) {
    const said = { address, serverId: 'cp-a.example', by: 'advertise-address' } as const;
    assert.deepEqual(parseAdvertisedServer(formatAdvertisedServer(said)), said);
  }
});

test('anything else is not taken for an address', () => {
  for (const line of [
    '',
    '10.0.0.1:7443',
    'router.example.com:7443; server=cp-a; by=peer-advertise-ip',
    '10.0.0.1:0; server=cp-a; by=peer-advertise-ip',
    '10.0.0.1:7443; server=CP_A; by=peer-advertise-ip',
    '10.0.0.1:7443; server=cp-a; by=somebody',
    '10.0.0.1:7443; server=cp-a; by=peer-advertise-ip; server=cp-b',
    '10.0.0.1:7443; server=cp-a; by=peer-advertise-ip, 10.0.0.2:7443; server=cp-b; by=peer-advertise-ip',
  ]) {
    assert.equal(parseAdvertisedServer(line), undefined, line);
  }
});

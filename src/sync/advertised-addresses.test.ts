import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import type { AdvertisedAddress, AdvertisedBy, AdvertisedServer } from '../snapshot/addresses/addresses.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { AdvertisedAddresses } from './advertised-addresses.ts';

const servers = [
  { id: 'cp-a', address: '10.0.0.1:6443' },
  { id: 'cp-b', address: '10.0.0.2:6443' },
];

function says(serverId: string, address: string, by: AdvertisedBy = 'peer-advertise-ip'): AdvertisedServer {
  return { serverId, address, by };
}

/** The last snapshot, with what was believed of `cp-b`. */
function snapshotWith(advertised: AdvertisedAddress): Snapshot {
  const snapshot = snapshotOf({ 'cp-a': ['v1/pods'], 'cp-b': ['v1/pods'] });
  return {
    ...snapshot,
    servers: snapshot.servers.map((server) => (server.id === 'cp-b' ? { ...server, advertised } : server)),
  };
}

function addresses(advertised: AdvertisedAddresses, previous?: Snapshot) {
  const { addresses } = advertised.resolve(servers, previous);
  return Object.fromEntries([...addresses].map(([id, { address }]) => [id, address]));
}

test('an address that an operator gave to a router has priority over the cluster’s own', () => {
  const advertised = new AdvertisedAddresses(['router-a', 'router-b']);
  advertised.heard('router-a', says('cp-a', '10.1.0.1:7443'));
  advertised.heard('router-b', says('cp-b', '10.1.0.2:7443', 'advertise-address'));
  assert.deepEqual(addresses(advertised), { 'cp-a': '10.1.0.1:7443', 'cp-b': '10.1.0.2:7443' });
});

test('the default address of a router is used only for a server without any address', () => {
  const advertised = new AdvertisedAddresses(['router-a', 'router-b']);
  advertised.heard('router-a', says('cp-a', '10.1.0.1:7443', 'default-interface'));
  advertised.heard('router-b', says('cp-b', '10.1.0.2:7443', 'bind-address'));
  assert.deepEqual(addresses(advertised), {});
  const { addresses: found } = advertised.resolve([{ id: 'cp-a' }, { id: 'cp-b' }], undefined);
  assert.deepEqual([...found.keys()], ['cp-a', 'cp-b']);
});

test('only routers that are pushed to can advertise, and they add no server', () => {
  const advertised = new AdvertisedAddresses(['router-a']);
  advertised.heard('https://edge.example.com', says('cp-a', '10.6.6.6:7443'));
  advertised.heard('router-a', says('cp-z', '10.1.0.26:7443'));
  assert.deepEqual(addresses(advertised), {});
});

test('a router that claims the server of another one changes nothing', () => {
  const advertised = new AdvertisedAddresses(['router-a', 'router-b']);
  advertised.heard('router-b', says('cp-b', '10.1.0.2:7443'));
  advertised.heard('router-a', says('cp-b', '10.6.6.6:7443'));
  const before = snapshotWith({ address: '10.1.0.2:7443', by: 'peer-advertise-ip' });
  assert.deepEqual(addresses(advertised, before), { 'cp-b': '10.1.0.2:7443' });
  assert.deepEqual(addresses(advertised), {}, 'where neither was in use, the cluster’s own counts');
  assert.match(
    advertised.resolve(servers, before).warnings.join(),
    /10\.1\.0\.2:7443 and 10\.6\.6\.6:7443.*cp-b/,
  );
});

test('a router cannot claim a server whose own router was given no address', () => {
  const advertised = new AdvertisedAddresses(['router-a', 'router-b']);
  advertised.heard('router-b', says('cp-b', '10.0.0.2:7443', 'bind-address'));
  advertised.heard('router-a', says('cp-b', '10.6.6.6:7443'));
  const { addresses: believed, warnings } = advertised.resolve(servers, undefined);
  assert.deepEqual([...believed], []);
  assert.match(warnings.join(), /10\.0\.0\.2:7443 and 10\.6\.6\.6:7443.*cp-b/);
});

test('the address of a router that does not respond stays; another response replaces it', () => {
  const advertised = new AdvertisedAddresses(['router-a', 'router-b']);
  const before = snapshotWith({ address: '10.1.0.2:7443', by: 'peer-advertise-ip' });
  advertised.heard('router-a', says('cp-a', '10.1.0.1:7443'));
  const kept = { 'cp-a': '10.1.0.1:7443', 'cp-b': '10.1.0.2:7443' };
  assert.deepEqual(addresses(advertised, before), kept, 'router-b was not heard since the start');
  advertised.heard('router-b', says('cp-b', '10.1.0.2:7443', 'default-interface'));
  assert.deepEqual(addresses(advertised, before), { 'cp-a': '10.1.0.1:7443' }, 'started without the flags');
  advertised.heard('router-b', undefined);
  assert.deepEqual(addresses(advertised, before), { 'cp-a': '10.1.0.1:7443' });
});

test('an address disappears when its router is in front of another server, or is no longer pushed to', () => {
  const before = snapshotWith({ address: '10.1.0.2:7443', by: 'peer-advertise-ip' });
  const moved = new AdvertisedAddresses(['router']);
  moved.heard('router', says('cp-a', '10.1.0.2:7443'));
  assert.deepEqual(addresses(moved, before), { 'cp-a': '10.1.0.2:7443' });
  assert.deepEqual(addresses(new AdvertisedAddresses([]), before), {});
});

test('only a changed address is told', () => {
  const advertised = new AdvertisedAddresses(['router-a']);
  let told = 0;
  advertised.onChange(() => told++);
  advertised.heard('router-a', undefined);
  advertised.heard('router-a', undefined);
  assert.equal(told, 1);
  advertised.heard('router-a', says('cp-a', '10.1.0.1:7443'));
  advertised.heard('router-a', says('cp-a', '10.1.0.1:7443'));
  assert.equal(told, 2);
});

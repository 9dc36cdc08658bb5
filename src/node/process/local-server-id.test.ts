import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SnapshotServer } from '../../snapshot/format/schema.ts';
import { localServerIdIn } from './local-server-id.ts';

const serverAt = (id: string, address: string): SnapshotServer => ({ id, address, serves: 'none' });
const a = serverAt('endpoint-10-0-0-1-6444', '10.0.0.1:6444');
const b = serverAt('apiserver-b', '10.0.0.2:6444');
const isLocal = (address: string) => address.startsWith('10.0.0.1:');

test('the local server is the one with its ID, whatever address it has', () => {
  assert.equal(localServerIdIn({ servers: [a, b] }, 'apiserver-b', isLocal), 'apiserver-b');
});

test('without its ID the local server is the one at an address of it, given as such or as a URL', () => {
  assert.equal(localServerIdIn({ servers: [a, b] }, 'apiserver-a', isLocal), a.id);
  const { address, ...described } = a;
  const byUrl = { ...described, url: `https://${address}` };
  assert.equal(localServerIdIn({ servers: [byUrl, b] }, 'apiserver-a', isLocal), a.id);
});

test('of several servers at addresses of this host none is taken for the local one', () => {
  const other = serverAt('apiserver-c', '10.0.0.1:6443');
  assert.equal(localServerIdIn({ servers: [a, b, other] }, 'apiserver-a', isLocal), undefined);
});

test('a snapshot without the local server names none in its place', () => {
  assert.equal(localServerIdIn({ servers: [b] }, 'apiserver-a', isLocal), undefined);
  assert.equal(
    localServerIdIn({ servers: [{ id: 'c', serves: 'none' }] }, 'apiserver-a', isLocal),
    undefined,
  );
});

test('where no server is at an address of this host, the local one is the only one whose Lease names it', () => {
  const named = { ...b, hostname: 'cp-1' };
  const other = { ...serverAt('apiserver-c', '10.0.0.3:6444'), hostname: 'cp-2' };
  assert.equal(localServerIdIn({ servers: [named, other] }, undefined, isLocal, 'cp-1'), b.id);
  assert.equal(localServerIdIn({ servers: [a, named, other] }, undefined, isLocal, 'cp-1'), a.id);
  const alike = { ...other, hostname: 'cp-1' };
  assert.equal(localServerIdIn({ servers: [named, alike] }, undefined, isLocal, 'cp-1'), undefined);
});

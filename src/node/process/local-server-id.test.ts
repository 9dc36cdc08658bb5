import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import type { SnapshotServer } from '../../snapshot/format/schema.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { LocalServerId, localServerIdIn } from './local-server-id.ts';

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

/** Follows tables with these servers. @param given its ID; `undefined`: the tables tell it, by the address of `here` */
function following(given: string | undefined, here?: string) {
  const { logger, lines } = recordingLogger();
  const local = {
    origin: 'https://10.0.0.1:6443',
    serverName: 'kubernetes.default.svc',
    ca: { path: '', pem: '' },
  };
  const settings = { serving: { bindAddress: '0.0.0.0', port: 7443 } };
  const id = new LocalServerId({ serverId: given, local, settings }, logger);
  return {
    lines,
    follow(ids: readonly string[], local = here) {
      const servers = ids.map((each) => [
        each,
        { serves: ['v1/pods'], address: each === local ? '10.0.0.1:6443' : '10.0.0.2:6443' },
      ]);
      id.follow(buildRoutingTable(snapshotOf(Object.fromEntries(servers))));
      return id.current();
    },
  };
}

test('a snapshot without the local server is warned of, with at most ten of the IDs that it has', () => {
  const { follow, lines } = following('cp-x');
  const ids = Array.from({ length: 12 }, (_, index) => `cp-${index + 10}`);
  assert.equal(follow(ids), 'cp-x');
  assert.deepEqual(
    lines.map(({ level, fields }) => [level, fields]),
    [['warn', { serverId: 'cp-x', servers: 12, serverIds: ids.slice(0, 10) }]],
  );
  assert.match(lines[0]?.message ?? '', /compare --server-id .*endpoint-/);
});

test('the same servers are warned of once, other ones again, and the end of it is told', () => {
  const { follow, lines } = following('cp-x');
  for (const ids of [['cp-a'], ['cp-a'], ['cp-b'], ['cp-b', 'cp-x'], ['cp-b', 'cp-x'], ['cp-b']]) follow(ids);
  assert.deepEqual(
    lines.map(({ level }) => level),
    ['warn', 'warn', 'info', 'warn'],
  );
});

test('a snapshot with the server of the ID that was given is worth no line', () => {
  const { follow, lines } = following('cp-a');
  follow(['cp-a', 'cp-b']);
  assert.deepEqual(lines, []);
});

test('an ID that the first table tells, and another one later, are told of once each', () => {
  const { follow, lines } = following(undefined);
  const [first, later] = ['endpoint-10-0-0-1-6443', 'apiserver-a'];
  assert.equal(follow(['cp-b']), 'https://10.0.0.1:6443');
  for (const id of [first, first, later, later]) assert.equal(follow(['cp-b', id], id), id);
  assert.deepEqual(
    lines.slice(1).map(({ level, fields }) => [level, fields]),
    [
      ['info', { serverId: first }],
      ['info', { serverId: later, before: first }],
    ],
  );
});

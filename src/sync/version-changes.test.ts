import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaseOf } from '../../test/support/cluster-states.ts';
import { snapshotOf } from '../../test/support/snapshot-builder.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { acquiredAt } from './leases.ts';
import { versionChanges } from './version-changes.ts';

const start = Date.UTC(2026, 0, 31);
const serves = ['v1/pods'];

function snapshotAt(
  versions: Readonly<Record<string, string>>,
  changes: Snapshot['metadata']['versionChanges'] = [],
) {
  const servers = Object.entries(versions).map(([id, version]) => [id, { serves, version }] as const);
  return snapshotOf(Object.fromEntries(servers), {
    createdAt: new Date(start).toISOString(),
    ...(changes.length === 0 ? {} : { versionChanges: changes }),
  });
}

/** What the next snapshot says. @param acquired seconds after the start, by server; `ready` likewise */
function changesOf(
  previous: Snapshot | undefined,
  versions: Readonly<Record<string, string>>,
  seconds: number,
  acquired: Readonly<Record<string, number>> = {},
  ready: Readonly<Record<string, number>> = {},
  wasSeen = true,
) {
  // Lost two seconds after the start, whichever it is.
  const starts = new Map(
    Object.entries(ready).map(([id, at]) => [
      id,
      { lostAt: start + 2_000, readyAt: start + at * 1_000, wasSeen },
    ]),
  );
  const descriptions = Object.entries(acquired).map(([id, at]) => ({ id, acquiredAt: start + at * 1_000 }));
  const { servers } = snapshotAt(versions);
  return versionChanges(previous, servers, descriptions, start + seconds * 1_000, starts).map(
    ({ server, from, to, at }) => `${server} ${from} ${to} ${(Date.parse(at) - start) / 1_000}`,
  );
}

const old = { a: 'v1.35.0', b: 'v1.35.0', c: 'v1.35.0' };

test('a version counts ten seconds after its server acquired its Lease, whenever that is noticed', () => {
  const before = snapshotAt(old);
  for (const noticed of [1, 5, 9, 30]) {
    assert.deepEqual(changesOf(before, { ...old, c: 'v1.36.0' }, noticed, { c: 0.5 }), ['c 1.35 1.36 10.5']);
  }
  assert.deepEqual(changesOf(before, { ...old, c: 'v1.36.0' }, 100, { c: 0.5 }), [], 'it is long past');
});

test('without a Lease, and by one from the future, it counts ten seconds after it was noticed', () => {
  const before = snapshotAt(old);
  assert.deepEqual(changesOf(before, { ...old, c: 'v1.36.0' }, 3), ['c 1.35 1.36 13']);
  assert.deepEqual(changesOf(before, { ...old, c: 'v1.36.0' }, 3, { c: 3_600 }), ['c 1.35 1.36 13']);
});

test('a server that was silent while it started counts at the same instant for whom it was silent', () => {
  const before = snapshotAt(old);
  const mixed = { ...old, c: 'v1.36.0' };
  assert.deepEqual(changesOf(before, mixed, 21, { c: 8 }, { c: 20 }, true), ['c 1.35 1.36 25']);
  assert.deepEqual(changesOf(before, mixed, 21, { c: 8 }, { c: 20 }, false), ['c 1.35 1.36 25']);
});

test('a server that was out of reach of one router alone counts for that router as for all others', () => {
  const before = snapshotAt(old);
  const mixed = { ...old, c: 'v1.36.0' };
  assert.deepEqual(changesOf(before, mixed, 21, { c: -4 }, { c: 20 }, false), ['c 1.35 1.36 6']);
  assert.deepEqual(changesOf(before, mixed, 75, { c: 8 }, { c: 70 }, false), ['c 1.35 1.36 18']);
});

test('a server that starts slowly counts five seconds after it was seen to become ready, whenever it was read', () => {
  const before = snapshotAt(old);
  const mixed = { ...old, c: 'v1.36.0' };
  for (const noticed of [22, 24, 26]) {
    // Another snapshot was made while it started.
    const between = {
      ...before,
      metadata: { ...before.metadata, createdAt: new Date(start + 18_000).toISOString() },
    };
    const changes = changesOf(between, mixed, noticed, { c: 4 }, { c: 21 });
    assert.deepEqual(changes, ['c 1.35 1.36 26']);
    const known = { server: 'c', from: '1.35', to: '1.36', at: new Date(start + 26_000).toISOString() };
    assert.deepEqual(changesOf(snapshotAt(mixed, [known]), mixed, noticed, { c: 4 }, { c: 21 }), changes);
  }
  assert.deepEqual(changesOf(before, mixed, 8, { c: 4 }, { c: 7 }), ['c 1.35 1.36 14']);
});

test('a change stays for a minute, so that routers whose clocks differ change at the same instant', () => {
  const { servers: _servers, ...changes } = {
    servers: [],
    change: { server: 'c', from: '1.35', to: '1.36', at: new Date(start + 10_000).toISOString() },
  };
  const mixed = { ...old, c: 'v1.36.0' };
  const before = snapshotAt(mixed, [changes.change]);
  assert.deepEqual(changesOf(before, mixed, 69), ['c 1.35 1.36 10']);
  assert.deepEqual(changesOf(before, mixed, 70), []);
});

test('servers that come and leave count, too; one that replaces another at its place counts when it does', () => {
  const before = snapshotAt({ ...old, c: 'v1.36.0' });
  assert.deepEqual(changesOf(before, { a: 'v1.35.0', b: 'v1.35.0' }, 2), ['c 1.36 undefined 12']);
  assert.deepEqual(
    changesOf(before, { a: 'v1.35.0', b: 'v1.35.0', d: 'v1.36.0' }, 2, { d: 1 }),
    ['c 1.36 undefined 11', 'd undefined 1.36 11'],
    'at the same address',
  );
});

test('a cluster of one version, a patch and a first snapshot change nothing', () => {
  const before = snapshotAt(old);
  assert.deepEqual(changesOf(before, { ...old, d: 'v1.35.0' }, 1), []);
  assert.deepEqual(changesOf(before, { ...old, c: 'v1.35.9' }, 1), []);
  assert.deepEqual(changesOf(undefined, { ...old, c: 'v1.36.0' }, 1), []);
});

test('a Lease that its holder has created was acquired then; else the first renewal that is seen counts', () => {
  const createdAt = start;
  assert.equal(acquiredAt(leaseOf('a', { createdAt, renewedAt: start + 700 })), start);
  assert.equal(
    acquiredAt(leaseOf('a', { createdAt, renewedAt: start + 10_700 })),
    start,
    'one renewal later',
  );
  assert.equal(acquiredAt(leaseOf('a', { createdAt, renewedAt: start + 3_600_000 })), start + 3_600_000);
  assert.equal(acquiredAt(leaseOf('a', { renewedAt: start })), start);
});

test('a version that is read before the Lease of its process is seen counts as the Lease says once it is', () => {
  const before = snapshotAt(old);
  const createdAt = (seconds: number) => new Date(start + seconds * 1_000).toISOString();
  const previous = { ...before, metadata: { ...before.metadata, createdAt: createdAt(600) } };
  const mixed = { ...old, c: 'v1.36.0' };
  const noticed = changesOf(previous, mixed, 620, { c: 1 });
  assert.deepEqual(noticed, ['c 1.35 1.36 630'], 'by the Lease of the process before it would be long past');
  const next = snapshotAt(mixed, [{ server: 'c', from: '1.35', to: '1.36', at: createdAt(630) }]);
  assert.deepEqual(changesOf(next, mixed, 621, { c: 1 }), noticed);
  assert.deepEqual(changesOf(next, mixed, 622, { c: 618 }), ['c 1.35 1.36 628']);
});

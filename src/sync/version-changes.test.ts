import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaseOf } from '../../test/support/cluster-states.ts';
import { snapshotOf } from '../../test/support/snapshot-builder.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { acquisition } from './leases.ts';
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

/** What the next snapshot says. @param acquired seconds after the start, by server; `ready` likewise: when it was not yet, and was */
function changesOf(
  previous: Snapshot | undefined,
  versions: Readonly<Record<string, string>>,
  seconds: number,
  acquired: Readonly<Record<string, number>> = {},
  ready: Readonly<Record<string, readonly [number, number]>> = {},
) {
  // Lost two seconds after the start, whichever it is.
  const starts = new Map(
    Object.entries(ready).map(([id, [notYet, at]]) => [
      id,
      { lostAt: start + 2_000, notReadyAt: start + notYet * 1_000, readyAt: start + at * 1_000 },
    ]),
  );
  const descriptions = Object.entries(acquired).map(([id, at]) => {
    const acquiredAt = start + at * 1_000;
    return { id, acquired: { from: acquiredAt, at: acquiredAt } };
  });
  const { servers } = snapshotAt(versions);
  const inSeconds = (text: string | undefined) =>
    text === undefined ? '' : `${(Date.parse(text) - start) / 1_000}`;
  return versionChanges(previous, servers, descriptions, start + seconds * 1_000, starts).map(
    ({ server, from, to, at, waitFrom }) =>
      `${server} ${from} ${to} ${inSeconds(at)} from ${inSeconds(waitFrom)}`,
  );
}

const old = { a: 'v1.35.0', b: 'v1.35.0', c: 'v1.35.0' };

test('a version counts ten seconds after its server acquired its Lease, whenever that is noticed', () => {
  const before = snapshotAt(old);
  const readyAt: Readonly<Record<string, readonly [number, number]>> = { c: [3, 3.1] };
  for (const noticed of [4, 5, 9, 30]) {
    const changes = changesOf(before, { ...old, c: 'v1.36.0' }, noticed, { c: 0.5 }, readyAt);
    assert.deepEqual(changes, ['c 1.35 1.36 10.5 from 8.5']);
  }
  assert.deepEqual(
    changesOf(before, { ...old, c: 'v1.36.0' }, 100, { c: 0.5 }, readyAt),
    [],
    'it is long past',
  );
});

test('without a Lease, and by one from the future, it counts ten seconds after it was noticed', () => {
  const before = snapshotAt(old);
  const mixed = { ...old, c: 'v1.36.0' };
  assert.deepEqual(changesOf(before, mixed, 3, {}, { c: [2, 2.5] }), ['c 1.35 1.36 13 from 10']);
  // By the clock of another router it may not be from the future.
  assert.deepEqual(changesOf(before, mixed, 3, { c: 3_600 }, { c: [2, 2.5] }), ['c 1.35 1.36 13 from 5']);
});

test('who has not seen a server start waits until it must count for everybody', () => {
  const before = snapshotAt(old);
  const mixed = { ...old, c: 'v1.36.0' };
  // This process was started after it, or had lost it and not found it again for long.
  assert.deepEqual(changesOf(before, mixed, 30, { c: 8 }), ['c 1.35 1.36 35 from 16']);
  assert.deepEqual(changesOf(before, mixed, 21, { c: 4 }, { c: [1, 20] }), ['c 1.35 1.36 25 from 12']);
  assert.deepEqual(changesOf(before, mixed, 75, { c: 8 }, { c: [1, 70] }), ['c 1.35 1.36 75 from 16']);
});

test('a server that starts slowly counts five seconds after it was seen to become ready, whenever it was read', () => {
  const before = snapshotAt(old);
  const mixed = { ...old, c: 'v1.36.0' };
  const ready = { c: [20, 21] } as const;
  for (const noticed of [22, 24, 26]) {
    // Another snapshot was made while it started.
    const between = {
      ...before,
      metadata: { ...before.metadata, createdAt: new Date(start + 18_000).toISOString() },
    };
    const changes = changesOf(between, mixed, noticed, { c: 4 }, ready);
    assert.deepEqual(changes, ['c 1.35 1.36 26 from 23']);
    const [at, waitFrom] = [26, 23].map((seconds) => new Date(start + seconds * 1_000).toISOString());
    const known = { server: 'c', from: '1.35', to: '1.36', at: at ?? '', waitFrom };
    assert.deepEqual(changesOf(snapshotAt(mixed, [known]), mixed, noticed, { c: 4 }, ready), changes);
  }
  assert.deepEqual(changesOf(before, mixed, 8, { c: 4 }, { c: [6, 7] }), ['c 1.35 1.36 14 from 12']);
});

test('a change stays for a minute, so that routers whose clocks differ change at the same instant', () => {
  const change = { server: 'c', from: '1.35', to: '1.36', at: new Date(start + 10_000).toISOString() };
  const mixed = { ...old, c: 'v1.36.0' };
  const before = snapshotAt(mixed, [change]);
  assert.deepEqual(changesOf(before, mixed, 69), ['c 1.35 1.36 10 from ']);
  assert.deepEqual(changesOf(before, mixed, 70), []);
});

test('servers that come and leave count, too; one that replaces another at its place counts when it does', () => {
  const before = snapshotAt({ ...old, c: 'v1.36.0' });
  assert.deepEqual(changesOf(before, { a: 'v1.35.0', b: 'v1.35.0' }, 2), ['c 1.36 undefined 12 from ']);
  assert.deepEqual(
    changesOf(before, { a: 'v1.35.0', b: 'v1.35.0', d: 'v1.36.0' }, 2, { d: 1 }),
    ['c 1.36 undefined 11 from 9', 'd undefined 1.36 11 from 9'],
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
  const made = { from: start, at: start };
  assert.deepEqual(acquisition(leaseOf('a', { createdAt, renewedAt: start + 700 })), made);
  assert.deepEqual(
    acquisition(leaseOf('a', { createdAt, renewedAt: start + 10_700 })),
    made,
    'a renewal later',
  );
  const hour = 3_600_000;
  for (const lease of [
    leaseOf('a', { createdAt, renewedAt: start + hour }),
    leaseOf('a', { renewedAt: start + hour }),
  ]) {
    const at = start + hour;
    assert.deepEqual(acquisition(lease), { from: Number.NEGATIVE_INFINITY, at });
    assert.deepEqual(acquisition(lease, at - 7_000), { from: at, at }, 'there was none before');
    assert.deepEqual(acquisition(lease, at - 9_000), { from: at - 9_000, at }, 'one may have been missed');
  }
});

test('a version that is read before the Lease of its process is seen counts as the Lease says once it is', () => {
  const before = snapshotAt(old);
  const createdAt = (seconds: number) => new Date(start + seconds * 1_000).toISOString();
  const previous = { ...before, metadata: { ...before.metadata, createdAt: createdAt(600) } };
  const mixed = { ...old, c: 'v1.36.0' };
  const noticed = changesOf(previous, mixed, 620, { c: 1 });
  assert.deepEqual(
    noticed,
    ['c 1.35 1.36 630 from 603'],
    'by the Lease of the process before it would be long past',
  );
  const change = { server: 'c', from: '1.35', to: '1.36', at: createdAt(630), waitFrom: createdAt(603) };
  const next = snapshotAt(mixed, [change]);
  assert.deepEqual(changesOf(next, mixed, 621, { c: 1 }), noticed);
  assert.deepEqual(changesOf(next, mixed, 622, { c: 618 }), ['c 1.35 1.36 628 from 603']);
});

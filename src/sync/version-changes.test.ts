import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { versionChanges } from './version-changes.ts';

const start = Date.UTC(2026, 0, 31);
const serves = ['v1/pods'];
/** Milliseconds of the monotonic clock at the start. */
const monotonicAtStart = 7_000_000;

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

/**
 * Changes in the next snapshot, in seconds since the start.
 * @param ready by server: when it was not ready yet, when it was, and whether it may have been of a version that nobody has read
 * @param set how far the wall clock was set ahead since the start, seconds
 * @param setSinceBefore the same since the snapshot of before was made
 */
function changesOf(
  previous: Snapshot | undefined,
  versions: Readonly<Record<string, string>>,
  seconds: number,
  ready: Readonly<Record<string, readonly [number | undefined, number, isAfterUnread?: boolean]>> = {},
  set = 0,
  setSinceBefore = 0,
) {
  const monotonic = (at: number) => monotonicAtStart + at * 1_000;
  const starts = new Map(
    Object.entries(ready).map(([id, [notYet, at, isAfterUnread = false]]) => [
      id,
      {
        notReadyAt: notYet === undefined ? undefined : monotonic(notYet),
        readyAt: monotonic(at),
        isAfterUnread,
      },
    ]),
  );
  const { servers } = snapshotAt(versions);
  const now = {
    now: start + (seconds + set) * 1_000,
    monotonic: monotonic(seconds),
    set: setSinceBefore * 1_000,
  };
  const inSeconds = (text = '') => (Date.parse(text) - start) / 1_000;
  return versionChanges(previous, servers, now, starts).map(
    ({ server, from, to, at, waitFrom }) =>
      `${server} ${from} ${to} ${inSeconds(at)} from ${inSeconds(waitFrom)}`,
  );
}

const old = { a: 'v1.35.0', b: 'v1.35.0', c: 'v1.35.0' };
const mixed = { ...old, c: 'v1.36.0' };

test('a version counts ten seconds after its server was seen to become ready, whenever it was read', () => {
  const before = snapshotAt(old);
  for (const noticed of [4, 5, 9, 30]) {
    // Somebody else may have seen it ready a moment after it was not.
    assert.deepEqual(changesOf(before, mixed, noticed, { c: [3, 3.1] }), ['c 1.35 1.36 13.1 from 11']);
  }
  assert.deepEqual(changesOf(before, mixed, 100, { c: [3, 3.1] }), [], 'it is long past');
});

test('who has not seen a server start waits from now on, until it must count for everybody', () => {
  const before = snapshotAt(old);
  assert.deepEqual(changesOf(before, mixed, 30), ['c 1.35 1.36 40 from 30']);
  // This process has lost it, and has found it ready.
  assert.deepEqual(changesOf(before, mixed, 31, { c: [undefined, 30] }), ['c 1.35 1.36 40 from 31']);
  // This process has lost it and not found it again for long.
  assert.deepEqual(changesOf(before, mixed, 71, { c: [1, 70] }), ['c 1.35 1.36 80 from 9']);
});

test('how far a change lies ahead does not hang on a clock that was set', () => {
  const changes = changesOf(snapshotAt(old), mixed, 4, { c: [3, 3.5] }, 3_600);
  assert.deepEqual(changes, ['c 1.35 1.36 3613.5 from 3611']);
});

test('a change stays for a minute, for whoever has missed a snapshot', () => {
  const at = new Date(start + 10_000).toISOString();
  const before = snapshotAt(mixed, [{ server: 'c', from: '1.35', to: '1.36', at, waitFrom: at }]);
  assert.deepEqual(changesOf(before, mixed, 69), ['c 1.35 1.36 10 from 10']);
  assert.deepEqual(changesOf(before, mixed, 70), []);
});

test('servers that come and leave count, too; one that replaces another at its place counts when it does', () => {
  const before = snapshotAt(mixed);
  const more = { ...mixed, d: 'v1.36.0' };
  assert.deepEqual(changesOf(snapshotAt(more), { a: 'v1.35.0', b: 'v1.35.0', d: 'v1.36.0' }, 2), [
    'c 1.36 undefined 12 from 2',
  ]);
  assert.deepEqual(
    changesOf(before, { a: 'v1.35.0', b: 'v1.35.0', d: 'v1.36.0' }, 2, { d: [1, 1.5] }),
    [],
    'it goes on at its address under another ID',
  );
  assert.deepEqual(
    changesOf(before, { a: 'v1.35.0', b: 'v1.35.0', d: 'v1.37.0' }, 2, { d: [1, 1.5] }),
    ['c 1.36 undefined 11.5 from 9', 'd undefined 1.37 11.5 from 9'],
    'at the same address',
  );
  assert.deepEqual(
    changesOf(snapshotAt({ a: 'v1.35.0', d: 'v1.36.0', c: 'v1.36.0' }), { a: 'v1.35.0', c: 'v1.36.0' }, 3, {
      c: [1, 1.5],
    }),
    ['d 1.36 undefined 11.5 from 9'],
    'it had two IDs for a moment',
  );
});

test('a server whose ID is found after its address goes on as it was, with what is to come of it', () => {
  const at = new Date(start + 10_000).toISOString();
  const changes = [
    { server: 'c', to: '1.36', at, waitFrom: at },
    { server: 'd', to: '1.36', at: new Date(start + 18_000).toISOString(), waitFrom: at },
  ];
  const both = snapshotAt({ ...mixed, d: 'v1.36.0' }, changes);
  assert.deepEqual(changesOf(both, { a: 'v1.35.0', b: 'v1.35.0', d: 'v1.36.0' }, 9), [
    'd undefined 1.36 10 from 10',
  ]);
});

test('a change stays with its instant when the clock is set, forwards and back', () => {
  const at = new Date(start + 10_000).toISOString();
  const before = snapshotAt(mixed, [{ server: 'c', from: '1.35', to: '1.36', at, waitFrom: at }]);
  assert.deepEqual(changesOf(before, mixed, 4, {}, 3_600, 3_600), ['c 1.35 1.36 3610 from 3610']);
  assert.deepEqual(changesOf(before, mixed, 4, {}, -3_600, -3_600), ['c 1.35 1.36 -3590 from -3590']);
});

test('while no server can be read nothing is forgotten: that would make a younger snapshot of what nobody has looked at', () => {
  const at = new Date(start + 10_000).toISOString();
  const before = snapshotAt(mixed, [{ server: 'c', from: '1.35', to: '1.36', at, waitFrom: at }]);
  const moment = { now: start + 90_000, monotonic: monotonicAtStart + 90_000 };
  const { servers } = snapshotAt(mixed);
  assert.equal(versionChanges(before, servers, { ...moment, isRead: false }).length, 1);
  assert.equal(versionChanges(before, servers, { ...moment, isRead: true }).length, 0);
});

test('a server that may have been of a version that was never read here is of no version until all know what it is now', () => {
  const versions = { a: 'v1.35.0', b: 'v1.36.0' };
  const before = snapshotAt(versions);
  assert.deepEqual(changesOf(before, versions, 4, { b: [3, 3.5] }), []);
  assert.deepEqual(changesOf(before, versions, 4, { b: [3, 3.5, true] }), ['b undefined 1.36 13.5 from 4']);
  const newer = { ...versions, b: 'v1.37.0' };
  assert.deepEqual(changesOf(before, newer, 4, { b: [3, 3.5] }), ['b 1.36 1.37 13.5 from 11']);
  assert.deepEqual(changesOf(before, newer, 4, { b: [3, 3.5, true] }), ['b undefined 1.37 13.5 from 4']);
  // A snapshot that has it already does not get it twice.
  const at = new Date(start + 13_500).toISOString();
  const told = snapshotAt(versions, [{ server: 'b', to: '1.36', at, waitFrom: at }]);
  assert.deepEqual(changesOf(told, versions, 5, { b: [3, 3.5, true] }), ['b undefined 1.36 13.5 from 13.5']);
});

test('who begins to read a cluster of several versions does not know what others go by, and waits until all have changed', () => {
  assert.deepEqual(changesOf(undefined, mixed, 1), [
    'a undefined 1.35 11 from 1',
    'b undefined 1.35 11 from 1',
    'c undefined 1.36 11 from 1',
  ]);
  assert.deepEqual(changesOf(undefined, old, 1), []);
});

test('where all servers are of one version, what changed before is told all the same: other routers may go by it', () => {
  const at = new Date(start + 20_000).toISOString();
  const changes = [{ server: 'b', from: '1.35', to: '1.36', at, waitFrom: at }];
  const all = { a: 'v1.36.0', b: 'v1.36.0', c: 'v1.36.0' };
  assert.deepEqual(changesOf(snapshotAt({ ...all, c: 'v1.35.0' }, changes), all, 12), [
    'b 1.35 1.36 20 from 20',
    'c 1.35 1.36 22 from 12',
  ]);
  assert.deepEqual(changesOf(snapshotAt(all), { ...all, c: 'v1.35.0' }, 13, { c: [12, 12.5] }), [
    'c 1.36 1.35 22.5 from 20',
  ]);
});

test('a cluster of one version and a patch change nothing', () => {
  const before = snapshotAt(old);
  assert.deepEqual(changesOf(before, { ...old, d: 'v1.35.0' }, 1), []);
  assert.deepEqual(changesOf(before, { ...old, c: 'v1.35.9' }, 1), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { oldSnapshotAge, type RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { createSnapshotRefresh } from './snapshot-keeping.ts';

const created = Date.UTC(2026, 0, 1);
const table = buildRoutingTable(
  snapshotOf({ a: ['v1/pods'] }, { createdAt: new Date(created).toISOString() }),
);

function isolate(held: RoutingTable | undefined) {
  const state = { now: created, held, looks: 0, hangs: false, fails: false };
  const behind: Promise<unknown>[] = [];
  const receiver = {
    current: () => state.held,
    catchUp: async () => {
      state.looks++;
      if (state.fails) throw new Error('away');
      if (state.hangs) await new Promise(() => {});
    },
  };
  const beforeRequest = createSnapshotRefresh(receiver, silentLogger, () => state.now);
  return { state, behind, request: () => beforeRequest((promise) => void behind.push(promise)) };
}

test('only the first look is waited for; later ones run behind requests, once a second; none ends with its client', async () => {
  const { state, behind, request } = isolate(table);
  await request();
  assert.deepEqual([state.looks, behind.length], [1, 1]);
  state.now += 999;
  assert.equal(request(), undefined);
  assert.equal(state.looks, 1);
  state.now += 1;
  assert.equal(request(), undefined);
  assert.equal(request(), undefined);
  assert.deepEqual([state.looks, behind.length], [2, 2]);
});

test('a request waits once a second while there is no snapshot, or an old one', async () => {
  const { state, behind, request } = isolate(undefined);
  await request();
  assert.equal(request(), undefined);
  state.now += 1_000;
  assert.ok(request() instanceof Promise);
  state.held = table;
  state.now = table.createdAt + oldSnapshotAge;
  assert.ok(request() instanceof Promise);
  assert.deepEqual([state.looks, behind.length], [3, 3]);
});

test('a look that never ends holds up its own request alone', async () => {
  const { state, request } = isolate(table);
  state.hangs = true;
  void request();
  state.hangs = false;
  await request();
  state.now += 1_000;
  assert.equal(request(), undefined);
  assert.equal(state.looks, 3);
});

test('a store that is away, or a clock that was set back, stops nothing', async () => {
  const { state, behind, request } = isolate(table);
  state.fails = true;
  await request();
  state.now -= 3_600_000;
  assert.equal(request(), undefined);
  await Promise.all(behind);
  assert.equal(state.looks, 2);
});

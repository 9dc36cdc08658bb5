import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { createSnapshotRefresh } from './snapshot-keeping.ts';

const oneVersion = buildRoutingTable(snapshotOf({ a: ['v1/pods'] }));
const severalVersions = buildRoutingTable(
  snapshotOf({
    a: { serves: ['v1/pods'], version: 'v1.35.0' },
    b: { serves: ['v1/pods'], version: 'v1.36.0' },
  }),
);

function isolate(held: RoutingTable | undefined) {
  const state = {
    now: 0,
    held,
    looks: 0,
    hangs: false,
    fails: false,
    confirmedAt: undefined as number | undefined,
  };
  const behind: Promise<unknown>[] = [];
  const receiver = {
    current: () => state.held,
    confirmedAt: () => state.confirmedAt,
    catchUp: async () => {
      const begunAt = state.now;
      state.looks++;
      if (state.fails) throw new Error('away');
      if (state.hangs) await new Promise(() => {});
      state.confirmedAt = begunAt;
    },
  };
  const beforeRequest = createSnapshotRefresh(receiver, silentLogger, () => state.now);
  return {
    state,
    behind,
    request: (method = 'GET') => beforeRequest(method, (promise) => void behind.push(promise)),
  };
}

/** The fate of one request after a rest, in an isolate that has just looked. */
async function afterRest(
  held: RoutingTable | undefined,
  method: string,
  rest: number,
): Promise<'waits' | 'looks behind' | 'goes on'> {
  const { state, request } = isolate(held);
  await request();
  state.now += rest;
  const before = state.looks;
  if (request(method) !== undefined) return 'waits';
  return state.looks > before ? 'looks behind' : 'goes on';
}

for (const [what, held, method, untilLook, untilWait] of [
  ['a write', oneVersion, 'POST', 1_000, 1_500],
  ['a write while servers differ', severalVersions, 'PATCH', 1_000, 1_500],
  ['a read while servers differ', severalVersions, 'GET', 1_000, 1_500],
  ['a read while no server differs', oneVersion, 'GET', 5_000, 10_000],
  ['any request without a snapshot', undefined, 'HEAD', 1_000, 1_500],
] as const) {
  test(`${what} waits for a look when the last one is ${untilWait} ms ago, and begins one behind it before`, async () => {
    assert.equal(await afterRest(held, method, untilLook - 1), 'goes on');
    assert.equal(await afterRest(held, method, untilLook), 'looks behind');
    assert.equal(await afterRest(held, method, untilWait - 1), 'looks behind');
    assert.equal(await afterRest(held, method, untilWait), 'waits');
    assert.equal(await afterRest(held, method, 900_000), 'waits');
  });
}

test('the first look is waited for; of those behind requests there is one a second; none ends with its client', async () => {
  const { state, behind, request } = isolate(severalVersions);
  await request();
  state.hangs = true;
  state.now += 1_000;
  assert.equal(request(), undefined);
  assert.equal(request(), undefined);
  assert.deepEqual([state.looks, behind.length], [2, 2]);
});

test('every write of a rested isolate waits for a look of its own, also while one hangs', async () => {
  const { state, request } = isolate(oneVersion);
  await request();
  state.now += 30_000;
  state.hangs = true;
  assert.ok(request('POST') instanceof Promise);
  state.hangs = false;
  await request('POST');
  assert.deepEqual([state.looks, state.confirmedAt], [3, 30_000]);
  assert.equal(request('POST'), undefined);
});

test('for a second nobody waits for a store that has failed, and nothing is said to be confirmed', async () => {
  const { state, request } = isolate(oneVersion);
  state.fails = true;
  await request('POST');
  assert.equal(request('POST'), undefined);
  assert.deepEqual([state.looks, state.confirmedAt], [1, undefined]);
  state.now += 1_000;
  assert.ok(request('POST') instanceof Promise);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressPolicy } from '../../src/snapshot/addresses/address-policy.ts';
import { SnapshotError } from '../../src/snapshot/format/snapshot-error.ts';
import { SnapshotReceiver } from '../../src/snapshot/receiving/receiver.ts';
import { createMemorySnapshotStore } from '../../src/snapshot/receiving/snapshot-store.ts';
import { isOld } from '../../src/snapshot/routing-table/routing-table.ts';
import { parseSnapshotKeys } from '../../src/snapshot/signing/keys.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import type { Delivery, DeliveryResult } from '../../src/sync/deliver.ts';
import { createSyncLoop } from '../../src/sync/sync-loop.ts';
import { eventually } from '../support/eventually.ts';
import { classicResponses, fakeServer } from '../support/fake-server-documents.ts';
import { manualClock } from '../support/manual-clock.ts';

const noon = Date.UTC(2026, 0, 31, 12);
const hour = 3_600_000;

/** A router whose own clock is right, in memory. */
async function routerWith(clock: { now(): number }, publicJwk: object) {
  const parsed = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
  assert.ok(parsed.ok);
  const { keys } = parsed;
  const receiver = new SnapshotReceiver({
    keys: () => keys,
    addressPolicy: createAddressPolicy({}),
    store: createMemorySnapshotStore(),
    now: () => clock.now(),
  });
  const seen: { readonly generation: number; readonly createdAt: number }[] = [];
  receiver.onChange(({ generation, createdAt }) => seen.push({ generation, createdAt }));
  const target = {
    name: 'router',
    checksCreationTime: true,
    async put({ sealed }: Delivery): Promise<DeliveryResult> {
      assert.ok(sealed !== undefined);
      try {
        await receiver.accept(sealed.snapshot);
        return { kind: 'accepted' };
      } catch (error) {
        assert.ok(error instanceof SnapshotError);
        if (error.code !== 'NotNewer') return { kind: 'refused', message: error.message };
        const generation = receiver.current()?.generation;
        return { kind: 'newer-held', generation, message: error.message };
      }
    },
  };
  return { receiver, seen, target };
}

const older = classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] });

test('a sync job whose clock is set back an hour keeps its snapshot alive and its generations rising', async () => {
  const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
  const right = manualClock(noon);
  const wrong = manualClock(noon);
  const { receiver, seen, target } = await routerWith(right, publicJwk);
  const server = fakeServer(older);
  const loop = createSyncLoop({
    servers: [{ id: 'a', address: 'a.example.com:6443', documents: server }],
    targets: [target],
    signingKey: signingKeyOf(privateJwk),
    clock: wrong,
  });
  const ending = new AbortController();
  const running = loop.run(ending.signal);
  await eventually(() => seen.length === 1 && wrong.sleeping.includes(1000));
  wrong.setBack(hour);

  for (let minute = 0; minute < 10; minute++) {
    if (minute === 5) server.responses.delete('/apis/batch/v1');
    // Both clocks go at the same pace, second by second, as the rounds do.
    for (let second = 0; second < 60; second++) {
      await right.advance(1000);
      await wrong.advance(1000);
    }
    const table = receiver.current();
    assert.ok(table !== undefined && !isOld(table, right.now()), `renewed after ${minute + 1} minutes`);
  }
  await eventually(() => receiver.current()?.resource('batch', 'v1', 'jobs') === undefined);
  ending.abort();
  await running;
  for (const [index, { generation, createdAt }] of seen.entries()) {
    const before = seen[index - 1];
    if (before === undefined) continue;
    assert.ok(generation >= before.generation, 'the generation never falls');
    assert.ok(createdAt >= before.createdAt, 'it never becomes older at once');
  }
  // Renewed, not sent anew: one generation for each content.
  assert.equal(new Set(seen.map(({ generation }) => generation)).size, 2);
});

test('a sync job that starts with its clock an hour behind goes above what the router holds', async () => {
  const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
  const right = manualClock(noon);
  const { receiver, target } = await routerWith(right, publicJwk);
  const generations: number[] = [];
  for (const start of [noon, noon - hour]) {
    const clock = manualClock(start);
    const responses = start === noon ? older : classicResponses({ v1: ['pods'], 'batch/v2': ['jobs'] });
    const loop = createSyncLoop({
      servers: [{ id: 'a', address: 'a.example.com:6443', documents: fakeServer(responses) }],
      targets: [target],
      signingKey: signingKeyOf(privateJwk),
      clock,
    });
    const ending = new AbortController();
    const running = loop.run(ending.signal);
    const version = start === noon ? 'v1' : 'v2';
    const isThere = () => receiver.current()?.resource('batch', version, 'jobs') !== undefined;
    await eventually(() => clock.sleeping.includes(1000));
    // Its time goes on only while it rests: on a busy machine a round takes longer than any number of seconds put here.
    await eventually(async () => {
      if (!isThere() && clock.sleeping.includes(1000)) await clock.advance(1000);
      return isThere();
    });
    assert.ok(clock.now() - start < hour / 2, 'and not because its clock has caught up');
    generations.push(receiver.current()?.generation ?? 0);
    ending.abort();
    await running;
  }
  assert.ok((generations[1] ?? 0) > (generations[0] ?? 0), 'though its clock says otherwise');
});

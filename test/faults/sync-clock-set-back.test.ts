import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createAddressPolicy } from '../../src/snapshot/addresses/address-policy.ts';
import { SnapshotError } from '../../src/snapshot/format/snapshot-error.ts';
import { SnapshotReceiver } from '../../src/snapshot/receiving/receiver.ts';
import { createMemorySnapshotStore } from '../../src/snapshot/receiving/snapshot-store.ts';
import { parseSnapshotKeys } from '../../src/snapshot/signing/keys.ts';
import { generateSigningKey, signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import type { Delivery, DeliveryResult } from '../../src/sync/deliver.ts';
import { SyncLoop } from '../../src/sync/sync-loop.ts';
import { classicResponses, fakeServer } from '../support/api-servers/fake-server-documents.ts';
import { clusterOf } from '../support/clusters/cluster-states.ts';
import { eventually } from '../support/eventually.ts';
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
  const target = {
    name: 'router',
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
  return { receiver, target };
}

const older = classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] });

test('a sync job that starts with its clock an hour behind goes above what the router holds', async () => {
  const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
  const right = manualClock(noon);
  const { receiver, target } = await routerWith(right, publicJwk);
  const generations: number[] = [];
  for (const start of [noon, noon - hour]) {
    const clock = manualClock(start);
    const responses = start === noon ? older : classicResponses({ v1: ['pods'], 'batch/v2': ['jobs'] });
    const loop = new SyncLoop({
      clusterSource: clusterOf([
        { id: 'a', address: 'a.example.com:6443', documents: fakeServer(responses) },
      ]),
      targets: [target],
      signingKey: signingKeyOf(privateJwk),
      clock,
    });
    const ending = new AbortController();
    const running = loop.run(ending.signal);
    const version = start === noon ? 'v1' : 'v2';
    const isThere = () => receiver.current()?.resource('batch', version, 'jobs') !== undefined;
    await eventually(() => clock.sleeping.includes(1000));
    // The job's time goes on only while the job rests: on a busy machine a round takes longer than any number of
    // seconds put here.
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseSnapshotKeys } from '../snapshot/signing/keys.ts';
import { openSnapshot } from '../snapshot/signing/open-sealed.ts';
import { generateSigningKey, signingKeyOf } from '../snapshot/signing/seal.ts';
import { type Delivery, Publication } from './deliver.ts';
import { defaultTiming } from './documents/timing.ts';

async function setUp() {
  const { privateJwk, publicJwk } = await generateSigningKey('EdDSA');
  const parsed = await parseSnapshotKeys(JSON.stringify({ keys: [publicJwk] }));
  assert.ok(parsed.ok);
  const clock = manualClock();
  const offered: (Delivery | undefined)[] = [];
  const publication = new Publication({
    clock,
    signingKey: signingKeyOf(privateJwk),
    timing: {
      ...defaultTiming,
      refusalBackOff: { initialMilliseconds: 1000, maximumMilliseconds: 60_000 },
    },
    offer: (delivery) => offered.push(delivery),
  });
  const createdAt = new Date(clock.now()).toISOString();
  const snapshot = snapshotOf({ a: ['v1/pods'] }, { generation: 7, createdAt });
  return { clock, offered, publication, snapshot, keys: parsed.keys };
}

test('seals a snapshot that it publishes', async () => {
  const { offered, publication, snapshot, keys } = await setUp();
  await publication.publish(snapshot);
  const opened = await openSnapshot(offered[0]?.sealed?.snapshot ?? '', keys);
  assert.equal(opened.snapshot.metadata.generation, 7);
});

test('renews again and again, under the same generation', async () => {
  const { clock, offered, publication, snapshot, keys } = await setUp();
  await publication.publish(snapshot);
  const renewedAt: string[] = [];
  for (let second = 0; second <= 240; second += 20) {
    const before = offered.length;
    await publication.keepInForce(true);
    if (offered.length > before) {
      const opened = await openSnapshot(offered.at(-1)?.sealed?.snapshot ?? '', keys);
      const { generation, createdAt } = opened.snapshot.metadata;
      assert.equal(generation, 7);
      assert.equal(opened.digest, offered[0]?.sealed?.held.digest);
      renewedAt.push(createdAt);
    }
    await clock.advance(20_000);
  }
  assert.deepEqual(renewedAt, [
    '2026-01-31T00:01:00.000Z',
    '2026-01-31T00:02:00.000Z',
    '2026-01-31T00:03:00.000Z',
    '2026-01-31T00:04:00.000Z',
  ]);
});

test('renews nothing while the cluster cannot be read: the age of a snapshot says since when', async () => {
  const { clock, offered, publication, snapshot } = await setUp();
  await publication.publish(snapshot);
  await clock.advance(60_000);
  await publication.keepInForce(false);
  assert.equal(offered.length, 1);
  await publication.keepInForce(true);
  assert.equal(offered.at(-1)?.sealed?.held.createdAt, clock.now());
});

test('overtakes a router that holds a higher generation, with the same content', async () => {
  const { offered, publication, snapshot } = await setUp();
  await publication.publish(snapshot);
  publication.newerHeld(40);
  await publication.keepInForce(true);
  const inForce = publication.snapshot();
  assert.equal(inForce?.metadata.generation, 41);
  assert.deepEqual(inForce?.servedSets, snapshot.servedSets);
  assert.equal(offered.length, 2);
  await publication.keepInForce(true);
  assert.equal(offered.length, 2);
});

test('a change does not wait until a router is overtaken that holds what another sync job has made', async () => {
  const { offered, publication, snapshot } = await setUp();
  await publication.publish(snapshot);
  publication.newerHeld(40);
  await publication.keepInForce(true);
  publication.newerHeld(42);
  await publication.keepInForce(true);
  assert.equal(offered.length, 2, 'the same content waits');
  const { servers } = snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] });
  await publication.publish({ ...snapshot, servers, metadata: { ...snapshot.metadata, generation: 42 } });
  assert.equal(offered.at(-1)?.snapshot.metadata.generation, 43);
});

test('two sync jobs that overtake each other do so ever more slowly', async () => {
  const { clock, publication, snapshot } = await setUp();
  await publication.publish(snapshot);
  let generation = 7;
  const overtakenAt: number[] = [];
  const start = clock.now();
  for (let second = 0; second <= 30; second++) {
    publication.newerHeld(generation);
    await publication.keepInForce(true);
    const inForce = publication.snapshot();
    if (inForce !== undefined && inForce.metadata.generation > generation) {
      overtakenAt.push((clock.now() - start) / 1000);
      generation = inForce.metadata.generation + 1;
    }
    await clock.advance(1000);
  }
  assert.deepEqual(overtakenAt, [0, 1, 3, 6, 12, 24]);
});

test('without a key the renewed snapshot itself carries the new time', async () => {
  const clock = manualClock();
  const offered: (Delivery | undefined)[] = [];
  const publication = new Publication({
    clock,
    timing: { ...defaultTiming, renewal: 5_000 },
    signingKey: undefined,
    offer: (delivery) => offered.push(delivery),
  });
  const createdAt = new Date(clock.now()).toISOString();
  await publication.publish(snapshotOf({ a: ['v1/pods'] }, { createdAt }));
  await clock.advance(5000);
  await publication.keepInForce(true);
  assert.equal(offered.at(-1)?.snapshot.metadata.createdAt, '2026-01-31T00:00:05.000Z');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ServedSet, Snapshot } from '../snapshot/format/schema.ts';
import { buildSnapshot } from './build-snapshot.ts';
import type { ServerReading } from './sync-server.ts';

const failed: ServerReading = { ok: false, code: 'Unreachable', reason: 'connection refused' };

function read(storageVersions: ServedSet['storageVersions']): ServerReading {
  const set = { storageVersions, subresources: { 'core.pods': { v1: ['log'] } }, discovery: [] };
  return { ok: true, set, openApi: { kind: 'not-served' }, version: 'v1.36.0' };
}

async function build(
  readings: Readonly<Record<string, ServerReading>>,
  storageVersions: Readonly<Record<string, ServedSet['storageVersions']>>,
  previous?: Snapshot,
) {
  return buildSnapshot({
    servers: Object.keys(readings).map((id) => ({ id, address: `${id}.example.com:6443` })),
    readings: new Map(Object.entries(readings)),
    clusterObjects: { apiServices: [], customResourceGroups: [], warnings: [] },
    storageVersions: new Map(Object.entries(storageVersions)),
    previous,
    now: Date.UTC(2026, 0, 31),
  });
}

const setOf = (snapshot: Snapshot | undefined, id: string) =>
  snapshot?.servedSets[snapshot.servers.find((server) => server.id === id)?.serves ?? ''];

test('a server that was never read serves what its StorageVersions say, without subresources', async () => {
  const { snapshot, warnings } = await build({ a: failed }, { a: { 'core.pods': ['v1'] } });
  assert.deepEqual(setOf(snapshot, 'a'), { storageVersions: { 'core.pods': ['v1'] } });
  assert.equal(snapshot?.servers[0]?.stale, undefined);
  assert.equal(snapshot?.metadata.source, 'storageversions');
  assert.match(warnings.join(), /server a is known only by its StorageVersions: connection refused/);
});

test('it follows its StorageVersions until it is read, and its discovery from then on', async () => {
  const first = await build({ a: failed }, { a: { 'core.pods': ['v1'] } });
  const second = await build({ a: failed }, { a: { 'core.nodes': ['v1'] } }, first.snapshot);
  assert.deepEqual(setOf(second.snapshot, 'a')?.storageVersions, { 'core.nodes': ['v1'] });
  const third = await build(
    { a: read({ 'core.pods': ['v1'] }) },
    { a: { 'core.pods': ['v1'] } },
    second.snapshot,
  );
  assert.deepEqual(setOf(third.snapshot, 'a')?.subresources, { 'core.pods': { v1: ['log'] } });
  // What was read stands when it can be read no longer, not what StorageVersions say.
  const fourth = await build({ a: failed }, { a: { 'core.nodes': ['v1'] } }, third.snapshot);
  assert.deepEqual(setOf(fourth.snapshot, 'a')?.storageVersions, { 'core.pods': ['v1'] });
  assert.equal(fourth.snapshot?.servers[0]?.stale, true);
});

test('both sources are named, and discovery counts where they contradict each other', async () => {
  const same = await build({ a: read({ 'core.pods': ['v1'] }) }, { a: { 'core.pods': ['v1'] } });
  assert.equal(same.snapshot?.metadata.source, 'both');
  assert.deepEqual(same.warnings, []);
  const other = await build({ a: read({ 'core.pods': ['v1'] }) }, { a: { 'batch.jobs': ['v1'] } });
  assert.deepEqual(setOf(other.snapshot, 'a')?.storageVersions, { 'core.pods': ['v1'] });
  const none = await build({ a: read({ 'core.pods': ['v1'] }) }, {});
  assert.equal(none.snapshot?.metadata.source, 'discovery');
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../test/support/snapshot-builder.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { viewsOf } from './merge-discovery.ts';

const discovery = [{ metadata: { name: 'batch' }, versions: [{ version: 'v1', resources: [] }] }];

function staleness(stale: Readonly<Record<string, boolean>>): boolean[] {
  const servers = Object.entries(stale).map(
    ([id, isStale]) => [id, { serves: ['batch/v1/jobs'], discovery, stale: isStale }] as const,
  );
  return viewsOf(buildRoutingTable(snapshotOf(Object.fromEntries(servers)))).map((view) => view.stale);
}

test('a server that could not be read is stale beside one that could', () => {
  assert.deepEqual(staleness({ a: true, b: false }), [true, false]);
});

test('discovery is not stale as a whole when the sync job could read no server at all', () => {
  assert.deepEqual(staleness({ a: true, b: true }), [false, false]);
  assert.deepEqual(staleness({ a: true }), [false]);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../test/support/snapshot-builder.ts';
import { loadUnsignedSnapshot } from './load-unsigned-snapshot.ts';

test('a plain JSON snapshot becomes a table to look at', async () => {
  const loaded = await loadUnsignedSnapshot(JSON.stringify(snapshotOf({ a: ['v1/pods'] })));
  assert.ok(loaded.ok);
  assert.equal(loaded.table.resource('', 'v1', 'pods')?.serverIds.has('a'), true);
});

test('a plain JSON snapshot with faults is refused with them', async () => {
  const loaded = await loadUnsignedSnapshot(
    JSON.stringify({ ...snapshotOf({ a: ['v1/pods'] }), servers: [] }),
  );
  assert.deepEqual(loaded, {
    ok: false,
    issues: [{ path: 'servers', message: 'must list at least one server' }],
  });
});

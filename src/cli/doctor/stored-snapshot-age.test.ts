import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oldSnapshotAge } from '../../snapshot/routing-table/routing-table.ts';
import { ageOf } from './examine-router.ts';

test('of an old stored snapshot doctor asks after who renews it: the router itself, or the sync job', () => {
  const snapshot = { generation: 7, createdAt: 0 };
  assert.equal(ageOf(snapshot, 1_000, true).result, 'ok');
  const told = (isOwn: boolean) => ageOf(snapshot, oldSnapshotAge, isOwn);
  assert.deepEqual([told(true).result, told(false).result], ['warning', 'warning']);
  assert.match(told(true).message, / 15 min old: does the router run, and can it read the cluster\?$/);
  assert.match(told(false).message, / 15 min old: does the sync job run, and push here\?$/);
});

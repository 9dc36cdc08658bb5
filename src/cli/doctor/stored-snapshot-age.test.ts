import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ageOf } from './examine-router.ts';

test('of a stored snapshot past its lifetime doctor asks after who renews it: the router itself, or the sync job', () => {
  const snapshot = { generation: 7, createdAt: 0, expiresAt: 300_000 };
  assert.equal(ageOf(snapshot, 1_000, true).result, 'ok');
  const told = (isOwn: boolean) => ageOf(snapshot, 360_000, isOwn);
  assert.deepEqual([told(true).result, told(false).result], ['warning', 'warning']);
  assert.match(told(true).message, /expired [^:]+ ago: does the router run, and can it read the cluster\?$/);
  assert.match(told(false).message, /expired [^:]+ ago: does the sync job run, and push here\?$/);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serversInUse } from './one-version-balancer.ts';

test('a balancer to one version leads clients to old servers until most are new, and to new ones from then on', () => {
  const order = ['a', 'b', 'c'];
  assert.deepEqual(
    [0, 1, 2, 3].map((done) => serversInUse(order, done)),
    [['b', 'c'], ['c'], ['a', 'b'], ['a', 'b', 'c']],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLimiter } from './time.ts';

test('never runs more tasks than the limit, and runs them all', async () => {
  const limit = createLimiter(3);
  let running = 0;
  let most = 0;
  const results = await Promise.all(
    Array.from({ length: 20 }, (_, index) =>
      limit(async () => {
        most = Math.max(most, ++running);
        await new Promise((resolve) => setImmediate(resolve));
        running--;
        return index;
      }),
    ),
  );
  assert.equal(most, 3);
  assert.deepEqual(
    results,
    Array.from({ length: 20 }, (_, index) => index),
  );
});

test('a task that fails gives its place to the next', async () => {
  const limit = createLimiter(1);
  const failing = limit(async () => {
    throw new Error('failed');
  });
  const next = limit(async () => 'ran');
  await assert.rejects(failing, /failed/);
  assert.equal(await next, 'ran');
});

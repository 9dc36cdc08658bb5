import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Refreshed } from './refreshed.ts';

test('one look runs at a time, even where another one is asked for as the last one ends', async () => {
  const clock = { now: 0 };
  const looks: PromiseWithResolvers<void>[] = [];
  const refreshed = new Refreshed({
    clock: () => clock.now,
    refresh() {
      const look = Promise.withResolvers<void>();
      looks.push(look);
      return look.promise;
    },
  });
  const asksAgain = refreshed.look().then(() => refreshed.look());
  clock.now = 1_000;
  const waits = refreshed.look();
  looks[0]?.resolve();
  await looks[0]?.promise;
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(looks.length, 2);
  looks[1]?.resolve();
  await Promise.all([asksAgain, waits]);
});

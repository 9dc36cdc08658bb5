import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { restartDelay } from './restart-delay.ts';

test('delays double up to half a minute', () => {
  const delays = [1, 2, 3, 8, 9, 1_000].map((ends) => restartDelay(ends, 0.999_999));
  assert.deepEqual(delays, [200, 400, 800, 25_600, 30_000, 30_000]);
});

test('a delay is never less than half of the whole one, nor more than it', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      (ends, at) => {
        const whole = restartDelay(ends, 0.999_999);
        const delay = restartDelay(ends, at);
        assert.ok(delay >= Math.floor(whole / 2) && delay <= whole, `${delay} of ${whole}`);
      },
    ),
  );
});

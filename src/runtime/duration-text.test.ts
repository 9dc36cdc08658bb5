import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationText } from './time.ts';

test('a duration is told in its two largest units at most', () => {
  const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
  for (const [milliseconds, text] of [
    [-5_000, '0 s'],
    [999, '0 s'],
    [59_999, '59 s'],
    [minute, '1 min 0 s'],
    [9 * minute + 59_000, '9 min 59 s'],
    [10 * minute + 59_000, '10 min'],
    [hour, '1 h 0 min'],
    [day - 1, '23 h 59 min'],
    [3 * day + 5 * hour, '3 d 5 h'],
  ] as const) {
    assert.equal(durationText(milliseconds), text);
  }
});

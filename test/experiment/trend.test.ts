import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Sample } from '../../scripts/experiment/soak/soak-results.ts';
import { growing, trendOf } from '../../scripts/experiment/soak/trend.ts';

/** Ten minutes of samples, one every five seconds. */
function samples(resident: (at: number) => number): Sample[] {
  return Array.from({ length: 120 }, (_, index) => {
    const at = index * 5;
    return { at, resident: resident(at), heap: 100, sockets: 2_000, generation: 1 };
  });
}

test('memory that grows in the warm-up alone, and swings afterwards, is flat', () => {
  const swinging = samples((at) => Math.min(300, 100 + at * 2) + 20 * Math.sin(at / 20));
  assert.deepEqual(growing(swinging), []);
  assert.ok(Math.abs(trendOf(swinging, 'resident').mean - 300) < 5);
});

test('a leak of a tenth in ten minutes is told', () => {
  const leaking = samples((at) => 300 + at * 0.07);
  assert.deepEqual(growing(leaking), ['resident']);
  assert.ok(Math.abs(trendOf(leaking, 'resident').growth - (0.07 * 595 * 0.7) / 327) < 0.01);
});

test('memory that is given back is no fault', () => {
  assert.deepEqual(growing(samples((at) => 400 - at * 0.2)), []);
});

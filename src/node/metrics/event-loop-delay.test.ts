import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventLoopDelay } from './event-loop-delay.ts';

/** Samples every 200 ms up to an instant, but for a stop. */
function sampledUntil(end: number, stop: { readonly from: number; readonly to: number }): EventLoopDelay {
  const delay = new EventLoopDelay(200, 0);
  for (let now = 200; now <= end; now += 200) if (now <= stop.from || now >= stop.to) delay.sampled(now);
  return delay;
}

test('each of several scrapers sees a stop, as often as it reads', () => {
  const delay = sampledUntil(3_000, { from: 1_000, to: 1_800 });
  for (let scrape = 0; scrape < 3; scrape++) assert.equal(delay.longest(3_000), 600);
});

test('a stop that begins with a scrape is told in full', () => {
  const delay = new EventLoopDelay(200, 0);
  delay.sampled(200);
  delay.longest(200);
  delay.sampled(1_200);
  assert.equal(delay.longest(1_210), 800);
});

test('a stop counts before a sample has seen its end', () => {
  const delay = new EventLoopDelay(200, 0);
  delay.sampled(200);
  assert.equal(delay.longest(10_200), 9_800);
});

test('a stop is told for a minute, and then no longer', () => {
  const stop = { from: 1_000, to: 1_800 };
  assert.equal(sampledUntil(61_000, stop).longest(61_000), 600);
  assert.equal(sampledUntil(70_000, stop).longest(70_000), 0);
});

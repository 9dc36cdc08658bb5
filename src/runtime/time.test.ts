import assert from 'node:assert/strict';
import { test } from 'node:test';
import { durationText } from './duration-text.ts';
import { backOffDelay, createLimiter, parseRfc3339, systemClock } from './time.ts';

const backOff = { initialMilliseconds: 100, maximumMilliseconds: 1000 };

test('the wait doubles with every failure up to its maximum', () => {
  const longest = [1, 2, 3, 4, 5, 6, 1000].map((failures) => backOffDelay(backOff, failures, 1));
  assert.deepEqual(longest, [100, 200, 400, 800, 1000, 1000, 1000]);
});

test('chance takes away at most half of the wait', () => {
  assert.equal(backOffDelay(backOff, 1, 0), 50);
  assert.equal(backOffDelay(backOff, 1000, 0), 500);
});

test('a sleep ends when its signal aborts, and does not begin when it has', { timeout: 60_000 }, async () => {
  const controller = new AbortController();
  const sleep = systemClock.sleep(3_600_000, controller.signal);
  controller.abort();
  await sleep;
  await systemClock.sleep(3_600_000, controller.signal);
});

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

test('times as Kubernetes writes them are read', () => {
  assert.equal(parseRfc3339('2026-11-21T04:05:52Z'), Date.UTC(2026, 10, 21, 4, 5, 52));
  assert.equal(parseRfc3339('2026-11-21T04:05:52.123456Z'), Date.UTC(2026, 10, 21, 4, 5, 52, 123));
  assert.equal(parseRfc3339('2026-11-21T04:05:52+05:30'), Date.UTC(2026, 10, 20, 22, 35, 52));
  assert.equal(parseRfc3339('2028-02-29T00:00:00Z'), Date.UTC(2028, 1, 29));
});

for (const text of [
  '2026-02-30T00:00:00Z',
  '2026-02-29T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-11-21T24:00:00Z',
  '2026-11-21T04:05:60Z',
  '2026-11-21T04:05:52',
  '2026-11-21 04:05:52Z',
  '2026-11-21',
  '20261121T040552Z',
  '1795233952',
  'now',
  '',
]) {
  test(`no RFC 3339 time: ${JSON.stringify(text)}`, () => {
    assert.equal(parseRfc3339(text), undefined);
  });
}

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

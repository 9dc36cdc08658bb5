import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { backOffDelay, steadyClock, systemClock } from './time.ts';

const backOff = { initialMilliseconds: 100, maximumMilliseconds: 1000 };

test('the wait doubles with every failure up to its maximum', () => {
  const longest = [1, 2, 3, 4, 5, 6, 1000].map((failures) => backOffDelay(backOff, failures, 1));
  assert.deepEqual(longest, [100, 200, 400, 800, 1000, 1000, 1000]);
});

test('chance takes away at most half of the wait', () => {
  assert.equal(backOffDelay(backOff, 1, 0), 50);
  assert.equal(backOffDelay(backOff, 1000, 0), 500);
});

test('a sleep ends when its signal aborts, and does not begin when it has', { timeout: 10_000 }, async () => {
  const controller = new AbortController();
  const sleep = systemClock.sleep(3_600_000, controller.signal);
  controller.abort();
  await sleep;
  await systemClock.sleep(3_600_000, controller.signal);
});

const hour = 3_600_000;

test('a clock that is set back after a router has taken its time goes on as if it had not been', async () => {
  const machine = manualClock();
  const clock = steadyClock(machine);
  const begun = clock.now();
  clock.vouch(begun);
  machine.setBack(hour);
  await machine.advance(5000);
  assert.equal(clock.now(), begun + 5000);
});

test('a clock that nobody vouched for is followed back: it may have been wrong before', () => {
  const machine = manualClock();
  const clock = steadyClock(machine);
  machine.setBack(hour);
  assert.equal(clock.now(), machine.now());
});

test('a clock that is set forward is followed', () => {
  const machine = manualClock();
  const clock = steadyClock(machine);
  clock.vouch(clock.now());
  machine.setBack(-hour);
  assert.equal(clock.now(), machine.now());
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../test/support/manual-clock.ts';
import { steadyClock } from './clock.ts';

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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { monitorSilence } from './client-session.ts';

/** Milliseconds between two looks. */
const look = 15_000;

test('a connection is pinged after 30 seconds without a byte, and closed 15 seconds later', (context) => {
  context.mock.timers.enable({ apis: ['setInterval'] });
  const told: string[] = [];
  let bytes = 100;
  const stop = monitorSilence({
    bytesRead: () => bytes,
    onQuiet: () => told.push('quiet'),
    onDead: () => told.push('dead'),
  });
  context.mock.timers.tick(look);
  bytes++;
  context.mock.timers.tick(2 * look);
  assert.deepEqual(told, []);
  context.mock.timers.tick(look);
  assert.deepEqual(told, ['quiet']);
  // The response to a ping is a sign of life as any other.
  bytes++;
  context.mock.timers.tick(2 * look);
  assert.deepEqual(told, ['quiet']);
  context.mock.timers.tick(2 * look);
  assert.deepEqual(told, ['quiet', 'quiet', 'dead']);
  stop();
  context.mock.timers.tick(10 * look);
  assert.equal(told.length, 3);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allInTime } from './ask-in-callers-name.ts';

test('what a task says of being aborted when its time is over is not its result', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  const aborted = (signal: AbortSignal) =>
    new Promise<string>((resolve) => signal.addEventListener('abort', () => resolve('aborted')));
  const results = allInTime(
    [
      { run: async () => 'done', late: 'late' },
      { run: () => Promise.reject(new Error('failed')), late: 'late' },
      { run: aborted, late: 'late' },
    ],
    { timeout: 2_000, signal: new AbortController().signal },
  );
  // The first two have ended by then.
  await new Promise((resolve) => setImmediate(resolve));
  context.mock.timers.tick(2_000);
  assert.deepEqual(await results, ['done', 'late', 'late']);
});

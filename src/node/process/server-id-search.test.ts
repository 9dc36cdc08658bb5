import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manualClock } from '../../../test/support/manual-clock.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { searchUntilFound } from './server-id-search.ts';

function searching() {
  const clock = manualClock();
  const { logger, lines } = recordingLogger();
  const over = new AbortController();
  let reason = 'no Lease';
  let isThere = false;
  const attempt = async () => {
    if (isThere) return 'apiserver-a';
    throw new Error(reason);
  };
  const found = searchUntilFound(attempt, logger, over.signal, clock);
  return {
    clock,
    found,
    over,
    reasons: () => lines.map(({ fields }) => fields['reason']),
    fail: (next: string) => {
      reason = next;
    },
    appear: () => {
      isThere = true;
    },
  };
}

test('the reason why the ID of the server is not known is logged at once, again each minute, and a new one at once', async () => {
  const { clock, reasons, fail, appear, found } = searching();
  for (let seconds = 2; seconds < 60; seconds += 2) await clock.advance(2_000);
  assert.deepEqual(reasons(), ['no Lease']);
  await clock.advance(2_000);
  assert.deepEqual(reasons(), ['no Lease', 'no Lease']);
  fail('no server');
  await clock.advance(2_000);
  assert.equal(reasons().at(-1), 'no server');
  appear();
  await clock.advance(2_000);
  assert.equal(await found, 'apiserver-a');
});

test('a search that is over ends at once, and tells no reason of that', async () => {
  const { clock, over, found, reasons } = searching();
  await clock.advance(0);
  over.abort();
  assert.equal(await found, undefined);
  assert.deepEqual(clock.sleeping, []);
  assert.equal(reasons().length, 1);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordingLogger } from '../../test/support/recording-logger.ts';
import { FailureLog } from './logger.ts';

function failureLog() {
  const { logger, lines } = recordingLogger();
  const time = { now: 0 };
  const log = new FailureLog({ logger, clock: () => time.now });
  const told = () => lines.map(({ message, fields }) => [message, fields['repeated'] ?? 0]);
  return { log, time, told };
}

test('a thousand failures of one kind make one line, and the next interval tells of the rest', () => {
  const { log, time, told } = failureLog();
  for (let count = 0; count < 1000; count++) log.warn('cp-b: Timeout', {}, 'no response');
  time.now = 10_000;
  log.warn('cp-b: Timeout', {}, 'no response');
  assert.deepEqual(told(), [
    ['no response', 0],
    ['no response', 999],
  ]);
});

test('failures of another kind have a line of their own', () => {
  const { log, told } = failureLog();
  log.warn('cp-b: Timeout', {}, 'one');
  log.warn('cp-b: TLSFailed', {}, 'two');
  log.warn('cp-c: Timeout', {}, 'three');
  assert.equal(told().length, 3);
});

test('the rest of a burst is told of with the next failure of whichever kind', () => {
  const { log, time, told } = failureLog();
  for (let count = 0; count < 5; count++) log.warn('cp-b: Timeout', {}, 'no response');
  time.now = 60_000;
  log.warn('cp-c: Timeout', {}, 'no response');
  assert.deepEqual(told(), [
    ['no response', 0],
    ['A failure was repeated', 4],
    ['no response', 0],
  ]);
});

test('kinds without a bound do not fill the memory, and are still told of', () => {
  const { log, told } = failureLog();
  for (let count = 0; count < 5_000; count++) log.warn(`kind ${count}`, {}, 'no response');
  assert.equal(told().length, 5_000);
});

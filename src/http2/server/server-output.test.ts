import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { SendWindow } from '../frames/flow-window.ts';
import { initialConnectionWindow } from '../frames/frame.ts';
import { ServerOutput, type WaitingStream } from './server-output.ts';

/** Write callbacks come a tick later. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A connection whose client reads when the test says so. */
function newOutput() {
  const ends: (() => void)[] = [];
  const socket = new Writable({
    highWaterMark: 1,
    write(_chunk, _encoding, done) {
      ends.push(done);
    },
  });
  const failures: unknown[] = [];
  const output = new ServerOutput(socket, {
    onDataSent: () => {},
    onFailure: (error) => failures.push(error),
  });
  const readAll = async (): Promise<void> => {
    do {
      ends.shift()?.();
      await settled();
    } while (ends.length > 0);
  };
  return { output, readAll, failures };
}

/** Fills the connection: its window is used up, and its client reads nothing. */
async function fill(output: ServerOutput): Promise<void> {
  const window = new SendWindow(initialConnectionWindow);
  // More than is written at a time, so that the client counts as slower.
  output.write('x'.repeat(200_000));
  assert.equal(output.data(1, window, Buffer.alloc(initialConnectionWindow)), initialConnectionWindow);
  await settled();
  assert.ok(output.needsDrain);
  assert.equal(output.sendWindow.left, 0);
}

function waiting(isHolding: boolean, proceed: () => void): WaitingStream {
  return { isWaiting: false, hasQueuedContent: isHolding, proceed };
}

test('a stream that waits for its client continues when the client reads, even with an empty connection window', async () => {
  const { output, readAll } = newOutput();
  await fill(output);
  const told: string[] = [];
  output.wait(waiting(true, () => told.push('with content')));
  output.wait(waiting(false, () => told.push('without')));
  await readAll();
  assert.deepEqual(told, ['without']);
  output.sendWindow.widen(1);
  output.proceed();
  assert.deepEqual(told, ['without', 'with content']);
});

test('an error thrown by a waiting stream is reported as a failure', async () => {
  const { output, readAll, failures } = newOutput();
  await fill(output);
  const issue = new Error('an error of ours');
  output.wait(
    waiting(false, () => {
      throw issue;
    }),
  );
  await readAll();
  assert.deepEqual(failures, [issue]);
});

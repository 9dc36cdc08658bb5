import assert from 'node:assert/strict';
import { Writable } from 'node:stream';
import { test } from 'node:test';
import { SendWindow } from './flow-control.ts';
import { frameFlag, initialConnectionWindow } from './frame.ts';
import { FrameOutput, type WaitingStream } from './frame-output.ts';

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
  const output = new FrameOutput(socket, {
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
async function fill(output: FrameOutput): Promise<void> {
  const window = new SendWindow(initialConnectionWindow);
  // More than is written at a time, so that the client counts as slower.
  output.write('x'.repeat(200_000));
  assert.equal(output.data(1, window, Buffer.alloc(initialConnectionWindow)), initialConnectionWindow);
  await settled();
  assert.ok(output.needsDrain);
  assert.equal(output.sendWindow.left, 0);
}

function waiting(isHolding: boolean, proceed: () => void): WaitingStream {
  return { hasQueuedContent: isHolding, proceed };
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

test('attack: what the peer makes us write and does not read is told apart from heads and content', async () => {
  const { output, readAll } = newOutput();
  await fill(output);
  output.sendWindow.widen(10_000);
  const { unread, unreadContent } = output;
  output.headers(1, 'h'.repeat(1_000), false);
  assert.equal(output.data(1, new SendWindow(10_000), Buffer.alloc(10_000)), 10_000);
  assert.equal(output.unread, unread);
  // With the head of its frame, and the size of the table that the first block begins with.
  assert.equal(output.unreadHeads, 1_010);
  assert.equal(output.unreadContent, unreadContent + 10_000);
  output.windowUpdate(1, 1);
  assert.equal(output.unread, unread + 13);
  await readAll();
  assert.deepEqual([output.unread, output.unreadHeads, output.unreadContent], [0, 0, 0]);
});

test('END_STREAM is on the last frame of the last piece, and not on one that the window cuts off', async () => {
  const written: Buffer[] = [];
  const output = new FrameOutput(
    {
      write(chunk, onWritten) {
        written.push(Buffer.from(chunk));
        onWritten?.();
        return true;
      },
    },
    { onFailure: assert.ifError },
  );
  const window = new SendWindow(20_000);
  assert.equal(output.data(1, window, Buffer.alloc(30_000), true), 20_000);
  window.widen(10_000);
  assert.equal(output.data(1, window, Buffer.alloc(10_000), true), 10_000);
  output.flush();
  const bytes = Buffer.concat(written);
  const flags: number[] = [];
  for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) flags.push(bytes.readUInt8(at + 4));
  assert.deepEqual(flags, [frameFlag.none, frameFlag.none, frameFlag.endStream]);
});

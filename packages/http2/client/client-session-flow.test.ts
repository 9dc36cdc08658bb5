import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { openSessionWithPeer, openSessionWithRequest } from '../test/client-session.ts';
import { eventually } from '../test/eventually.ts';
import { frame, frameFlag, frameType, uint32 } from '../test/raw-http2.ts';
import { dataFrame, headFrame, okFrames } from '../test/raw-http2-peer.ts';

const { none, endStream, padded } = frameFlag;
const flowControlError = 0x3;
const ok = [':status', '200'];
const quarter = Buffer.alloc(16_384, 'q');
/** Fills the window that the session grants each stream: 64 KiB. */
const fill = (stream: number): Buffer[] => Array.from({ length: 4 }, () => dataFrame(stream, quarter));

/** Bytes that WINDOW_UPDATEs have granted. */
function granted(frames: readonly { readonly payload: Buffer }[]): number {
  return frames.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
}

test('passed-on data is granted again: a response much larger than the window arrives whole', async (context) => {
  const { peer, response } = await openSessionWithRequest(context);
  peer.write(headFrame(1, ok));
  const size = 3_000_000;
  let window = 65_536;
  for (let sent = 0; sent < size; ) {
    const bytes = Math.min(16_384, size - sent, window);
    sent += bytes;
    window -= bytes;
    peer.write(dataFrame(1, quarter.subarray(0, bytes), sent === size ? endStream : none));
    if (window > 0) continue;
    await peer.settled();
    window = 65_536 + granted(peer.of(frameType.windowUpdate, 1)) - sent;
    assert.ok(window > 0);
  }
  assert.equal((await response.whole()).length, size);
});

test('a response whose reader pauses again and again makes no new memory each time', async (context) => {
  const { peer, stream, response } = await openSessionWithRequest(context);
  peer.write(headFrame(1, ok));
  const made = context.mock.method(Buffer, 'allocUnsafeSlow');
  for (let count = 0; count < 30; count++) {
    stream.pause();
    peer.write(...fill(1));
    await peer.settled();
    stream.resume();
    await peer.settled();
  }
  peer.write(dataFrame(1, '', endStream));
  assert.equal((await response.whole()).length, 30 * 65_536);
  const blocks = made.mock.calls.filter(({ arguments: [bytes] }) => bytes >= 4_096);
  assert.ok(blocks.length < 20, `${blocks.length} blocks`);
});

test('padding is granted again, and so is data for a closed stream', async (context) => {
  const { peer, ask } = await openSessionWithPeer(context);
  const [padding, over] = [ask(), ask()];
  await peer.settled();
  const beforehand = granted(peer.of(frameType.windowUpdate, 0));
  assert.equal(beforehand, 10 * 65_536 - 65_535);
  over.stream.reset(0x8, new Error('given up'));
  const nothingElse = Buffer.concat([Buffer.from([255]), Buffer.alloc(255)]);
  peer.write(headFrame(1, ok));
  for (let count = 0; count < 1_000; count++) {
    peer.write(dataFrame(1, nothingElse, padded), dataFrame(3, quarter));
    if (count % 100 === 99) await peer.settled();
  }
  peer.write(dataFrame(1, 'whole', endStream));
  assert.equal(await padding.response.whole(), 'whole');
  assert.ok(granted(peer.of(frameType.windowUpdate, 1)) >= 256_000 - 65_536);
  assert.ok(granted(peer.of(frameType.windowUpdate, 0)) - beforehand >= 16_384 * 1_000 - 10 * 65_536);
});

describe('attack: more data than was granted', () => {
  test('on a stream ends that stream only', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context);
    const [greedy, other] = [ask(), ask()];
    await peer.settled();
    greedy.stream.pause();
    peer.write(headFrame(1, ok), ...fill(1));
    await peer.settled();
    assert.equal(peer.of(frameType.rstStream).length, 0);
    peer.write(dataFrame(1, 'x'), okFrames(3, 'other'));
    const failure = await greedy.response.failure();
    assert.equal(failure.scope, 'stream');
    assert.equal(failure.isInvalidResponse, true);
    assert.equal(await peer.resetCode(1), flowControlError);
    assert.equal(await other.response.whole(), 'other');
  });

  test('with padding that nobody reads ends that stream as well', async (context) => {
    const { peer, response, stream } = await openSessionWithRequest(context);
    stream.pause();
    peer.write(headFrame(1, ok), ...fill(1), dataFrame(1, Buffer.from([0]), padded));
    await response.failure();
    assert.equal(await peer.resetCode(1), flowControlError);
  });
});

test('a paused reader holds no more than its window, and other responses go on', async (context) => {
  const { peer, ask } = await openSessionWithPeer(context);
  const slow = Array.from({ length: 20 }, () => ask());
  const fast = ask();
  await peer.settled();
  for (const { stream } of slow) {
    stream.pause();
    // More than all streams together are granted at once: held ones must not use that up.
    peer.write(headFrame(stream.id, ok), ...fill(stream.id));
    await peer.settled();
    assert.deepEqual(peer.of(frameType.windowUpdate, stream.id), []);
  }
  assert.ok(slow.every(({ response }) => response.content === '' && response.statuses.length === 1));
  peer.write(okFrames(fast.stream.id, 'fast'));
  assert.equal(await fast.response.whole(), 'fast');
  for (const { stream, response } of slow) {
    stream.resume();
    assert.equal(response.content.length, 65_536);
    peer.write(dataFrame(stream.id, 'last', endStream));
    assert.match(await response.whole(), /^q{65536}last$/);
    assert.ok(granted(peer.of(frameType.windowUpdate, stream.id)) <= 65_536);
  }
});

test('a reader that pauses again in the middle gets the rest later, in order, and the end last', async (context) => {
  const { peer, stream, response } = await openSessionWithRequest(context);
  stream.pause();
  const parts = ['a', 'b', 'c', 'd'].map((text) => text.repeat(16_000));
  peer.write(headFrame(1, ok), ...parts.map((part) => dataFrame(1, part)), dataFrame(1, '', endStream));
  await peer.settled();
  const take = response.data.bind(response);
  let pieces = 0;
  response.data = (piece) => {
    take(piece);
    pieces++;
    stream.pause();
  };
  for (let resumed = 1; response.endings === 0; resumed++) {
    stream.resume();
    assert.ok(parts.join('').startsWith(response.content));
    assert.ok(pieces <= resumed);
  }
  assert.ok(pieces > 1);
  assert.equal(await response.whole(), parts.join(''));
});

describe('what is held for a paused reader', () => {
  /** A response that is whole on the wire, or not, and of which nothing has been handed on. */
  async function queuedResponse(context: TestContext, flags: number) {
    const opened = await openSessionWithPeer(context);
    const asked = opened.ask();
    await opened.peer.settled();
    asked.stream.pause();
    opened.peer.write(headFrame(1, ok), dataFrame(1, 'held', flags));
    await opened.peer.settled();
    return { ...opened, ...asked };
  }

  test('is handed on also when the connection is gone, if the response was whole', async (context) => {
    const { peer, stream, response, events } = await queuedResponse(context, endStream);
    peer.socket.destroy();
    await eventually(() => events.at(-1) === 'closed');
    assert.equal(response.endings, 0);
    stream.resume();
    assert.equal(await response.whole(), 'held');
  });

  test('never passes for a whole response when the connection is gone before the end', async (context) => {
    const { peer, stream, response } = await queuedResponse(context, none);
    peer.socket.destroy();
    await assert.rejects(response.whole());
    stream.resume();
    assert.equal(response.endings, 1);
  });

  test('is dropped when the reader gives up a response that is complete on the wire, and the reader is told once', async (context) => {
    const { peer, stream, response } = await queuedResponse(context, endStream);
    const reason = new Error('given up');
    stream.reset(0x8, reason);
    stream.reset(0x8, new Error('again'));
    stream.resume();
    await assert.rejects(response.whole(), reason);
    assert.equal(response.content, '');
    await peer.settled();
    assert.deepEqual(peer.of(frameType.rstStream), []);
  });

  test('is thrown away when the reader gives up', async (context) => {
    const { peer, stream, response } = await queuedResponse(context, none);
    stream.reset(0x8, new Error('given up'));
    stream.resume();
    assert.equal(await peer.resetCode(1), 0x8);
    assert.equal(response.content, '');
    assert.equal(response.endings, 1);
  });
});

test('a reader that gives up in the middle of a piece gets nothing more', async (context) => {
  const { peer, ask } = await openSessionWithPeer(context);
  const { stream, response } = ask();
  const take = response.data.bind(response);
  response.data = (piece): void => {
    take(piece);
    stream.reset(0x8, new Error('given up'));
  };
  await peer.settled();
  peer.write(headFrame(1, ok), dataFrame(1, 'a'), dataFrame(1, 'b', endStream), headFrame(1, [], endStream));
  assert.equal(await peer.resetCode(1), 0x8);
  await peer.settled();
  assert.equal(response.content, 'a');
  assert.equal(response.endings, 1);
});

describe('attack: a WINDOW_UPDATE out of range for a stream ends that stream only', () => {
  for (const [name, increment, code] of [
    ['0', 0, 0x1],
    ['beyond 2^31-1', 2 ** 31 - 1, flowControlError],
  ] as const) {
    test(name, async (context) => {
      const { peer, ask } = await openSessionWithPeer(context);
      const [faulty, other] = [ask(), ask()];
      await peer.settled();
      peer.write(frame(frameType.windowUpdate, none, 1, uint32(increment)), okFrames(3, 'other'));
      assert.equal((await faulty.response.failure()).scope, 'stream');
      assert.equal(await peer.resetCode(1), code);
      assert.equal(await other.response.whole(), 'other');
    });
  }
});

import assert from 'node:assert/strict';
import { PassThrough, Readable } from 'node:stream';
import { describe, type TestContext, test } from 'node:test';
import { openSessionWithPeer } from '../test/client-session.ts';
import { eventually } from '../test/eventually.ts';
import { type Frame, frame, frameFlag, frameType, uint32 } from '../test/raw-http2.ts';
import { headFrame, okFrames, type RawHttp2Peer, settingsFrame } from '../test/raw-http2-peer.ts';

const { none, endStream } = frameFlag;
const initialWindow = 65_535;
const mebibyte = 1024 * 1024;

/** The content of an upload that has come. */
function uploaded(peer: RawHttp2Peer, stream: number): Buffer {
  return Buffer.concat(peer.of(frameType.data, stream).map(({ payload }) => payload));
}

const isEnded = (peer: RawHttp2Peer, stream: number): boolean =>
  peer.of(frameType.data, stream).some(({ flags }) => flags === endStream);

function grant(stream: number, bytes: number): Buffer {
  return frame(frameType.windowUpdate, none, stream, uint32(bytes));
}

/** For a server that grants what it receives at once, on the stream and on the connection. */
function grantAgain(peer: RawHttp2Peer, { type, stream, payload }: Frame): void {
  if (type !== frameType.data || payload.length === 0) return;
  peer.write(grant(stream, payload.length), grant(0, payload.length));
}

function patternOf(length: number, seed = 0): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, index) => (index * 31 + (index >> 8) + seed) & 0xff));
}

const methodAndTarget = { method: 'POST', target: '/upload' };

describe('an upload', () => {
  for (const length of [0, 1, 16_383, 16_384, 16_385, initialWindow, initialWindow + 1, mebibyte]) {
    test(`of ${length} bytes comes whole and ends once, in one piece and as a stream`, async (context) => {
      const { peer, ask } = await openSessionWithPeer(context, { onFrame: grantAgain });
      const bytes = patternOf(length);
      const asked = [
        ask({ ...methodAndTarget, content: bytes }),
        ask({ ...methodAndTarget, content: Readable.from(length === 0 ? [] : [bytes]) }),
        ask({ ...methodAndTarget, content: new PassThrough().end(bytes) }),
      ];
      for (const { stream, response } of asked) {
        await eventually(() => isEnded(peer, stream.id));
        assert.deepEqual(uploaded(peer, stream.id), bytes);
        assert.ok(peer.of(frameType.data, stream.id).every(({ payload }) => payload.length <= 16_384));
        assert.equal(peer.of(frameType.headers, stream.id)[0]?.flags, frameFlag.endHeaders);
        peer.write(okFrames(stream.id, 'stored'));
        assert.equal(await response.whole(), 'stored');
      }
      assert.deepEqual(peer.of(frameType.rstStream), []);
    });
  }

  test('without content ends with its head', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context);
    ask();
    await peer.settled();
    assert.equal(peer.of(frameType.headers, 1)[0]?.flags, frameFlag.endHeaders | endStream);
    assert.deepEqual(peer.of(frameType.data), []);
  });

  test('sends not one byte more than the window of the stream, nor than that of the connection', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context, { first: settingsFrame(4, 40_000) });
    const content = patternOf(100_000);
    ask({ ...methodAndTarget, content });
    ask({ ...methodAndTarget, content });
    await peer.settled();
    assert.equal(uploaded(peer, 1).length, 40_000);
    assert.equal(uploaded(peer, 3).length, initialWindow - 40_000);
    peer.write(grant(1, 5), grant(3, 1_000_000));
    await peer.settled();
    assert.equal(uploaded(peer, 1).length + uploaded(peer, 3).length, initialWindow);
    peer.write(grant(0, 1_000));
    await peer.settled();
    assert.equal(uploaded(peer, 1).length + uploaded(peer, 3).length, initialWindow + 1_000);
    peer.write(grant(1, 1_000_000), grant(0, 1_000_000));
    await eventually(() => isEnded(peer, 1) && isEnded(peer, 3));
    assert.deepEqual(uploaded(peer, 1), content);
    assert.deepEqual(uploaded(peer, 3), content);
  });

  test('obeys an initial window that is lowered below what was sent, and goes on once it is raised', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context);
    peer.write(grant(0, mebibyte));
    const content = patternOf(100_000);
    ask({ ...methodAndTarget, content });
    await peer.settled();
    assert.equal(uploaded(peer, 1).length, initialWindow);
    peer.write(settingsFrame(4, 1_000));
    await peer.settled();
    // 64,535 below 0: as much has to be granted before one more byte may come.
    peer.write(grant(1, initialWindow - 1_000));
    await peer.settled();
    assert.equal(uploaded(peer, 1).length, initialWindow);
    peer.write(grant(1, 1));
    await peer.settled();
    assert.equal(uploaded(peer, 1).length, initialWindow + 1);
    peer.write(settingsFrame(4, 0), settingsFrame(4, 1_010));
    await peer.settled();
    assert.equal(uploaded(peer, 1).length, initialWindow + 11);
    // A new one begins with what the settings say now.
    ask({ ...methodAndTarget, content });
    await peer.settled();
    assert.equal(uploaded(peer, 3).length, 1_010);
    peer.write(settingsFrame(4, mebibyte));
    await eventually(() => isEnded(peer, 1) && isEnded(peer, 3));
    assert.deepEqual(uploaded(peer, 1), content);
    assert.deepEqual(uploaded(peer, 3), content);
  });

  test('begun before the settings of the server are here counts what it sent before', async (context) => {
    const { peer, ask, session } = await openSessionWithPeer(context, { first: Buffer.alloc(0) });
    ask({ ...methodAndTarget, content: patternOf(100_000) });
    await eventually(() => uploaded(peer, 1).length === initialWindow);
    assert.equal(session.serverSettings, undefined);
    peer.write(settingsFrame(4, 70_000), grant(0, 100_000));
    await peer.settled();
    assert.equal(uploaded(peer, 1).length, 70_000);
  });

  test('that nobody reads takes no more from its source than the windows and one piece', async (context) => {
    const { peer, ask } = await openSessionWithPeer(context);
    let taken = 0;
    const piece = Buffer.alloc(16_384);
    const source = new Readable({
      highWaterMark: 16_384,
      read() {
        taken += piece.length;
        this.push(piece);
      },
    });
    const { stream } = ask({ ...methodAndTarget, content: source });
    await eventually(() => uploaded(peer, 1).length === initialWindow);
    await peer.settled();
    assert.ok(taken <= initialWindow + 3 * piece.length, `${taken} bytes were taken`);
    stream.reset(0x8, new Error('given up'));
    assert.equal(await peer.resetCode(1), 0x8);
    assert.ok(source.isPaused());
    assert.equal(source.listenerCount('data'), 0);
  });
});

for (const kind of ['streams', 'whole pieces'] as const) {
  test(`of several uploads that share a narrow connection none starves: ${kind}`, async (context) => {
    const { peer, ask } = await openSessionWithPeer(context, { first: settingsFrame(4, 100 * mebibyte) });
    const size = 2 * mebibyte;
    const contents = [1, 2, 3, 4].map((seed) => patternOf(size, seed));
    for (const bytes of contents) {
      const pieces = Array.from({ length: size / 65_536 }, (_, at) =>
        bytes.subarray(at * 65_536, (at + 1) * 65_536),
      );
      ask({ ...methodAndTarget, content: kind === 'streams' ? Readable.from(pieces) : bytes });
    }
    await peer.settled();
    // The connection is granted as much as one frame holds, again and again; the streams have room for everything.
    for (let count = 0; count < 64; count++) {
      peer.write(grant(0, 16_384));
      await peer.settled();
    }
    const shares = [1, 3, 5, 7].map((stream) => uploaded(peer, stream).length);
    assert.equal(
      shares.reduce((sum, share) => sum + share),
      initialWindow + mebibyte,
    );
    for (const share of shares) assert.ok(share >= mebibyte / 8, `they got ${shares.join(', ')}`);
    peer.write(grant(0, 100 * mebibyte));
    for (const [index, bytes] of contents.entries()) {
      await eventually(() => isEnded(peer, 2 * index + 1));
      assert.ok(uploaded(peer, 2 * index + 1).equals(bytes));
    }
  });
}

test('uploads wait for a server that does not read its socket, and go on when it does', async (context) => {
  const windows = [settingsFrame(4, 100 * mebibyte), grant(0, 100 * mebibyte)];
  const { peer, ask } = await openSessionWithPeer(context, { first: Buffer.concat(windows) });
  await peer.settled();
  peer.socket.pause();
  const size = 16 * mebibyte;
  let taken = 0;
  const source = (): Readable =>
    Readable.from(
      (function* () {
        for (let sent = 0; sent < size; sent += 65_536) {
          taken += 65_536;
          yield Buffer.alloc(65_536, 'u');
        }
      })(),
    );
  ask({ ...methodAndTarget, content: source() });
  ask({ ...methodAndTarget, content: source() });
  // Until nothing more is taken, for many turns of the event loop.
  let before = -1;
  while (before !== taken) {
    before = taken;
    for (let turn = 0; turn < 200; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
  assert.ok(taken < 2 * size, 'all of it was taken');
  peer.socket.resume();
  await eventually(() => isEnded(peer, 1) && isEnded(peer, 3));
  assert.equal(uploaded(peer, 1).length, size);
  assert.equal(uploaded(peer, 3).length, size);
});

describe('an upload that does not end', () => {
  async function begun(context: TestContext) {
    const opened = await openSessionWithPeer(context);
    const source = new PassThrough();
    return { ...opened, source, ...opened.ask({ ...methodAndTarget, content: source }) };
  }

  async function halfUploaded(context: TestContext) {
    const upload = await begun(context);
    upload.source.write('half');
    await eventually(() => uploaded(upload.peer, 1).length > 0);
    return upload;
  }

  test('because its source fails is reset, and never looks whole', async (context) => {
    const { peer, source, response } = await halfUploaded(context);
    source.destroy(new Error('the client went away'));
    await assert.rejects(response.whole(), /the client went away/);
    assert.equal(await peer.resetCode(1), 0x8);
    assert.equal(isEnded(peer, 1), false);
  });

  test('because its source is closed, now or before, is reset', async (context) => {
    const { peer, ask, source, response } = await halfUploaded(context);
    source.destroy();
    await assert.rejects(response.whole(), /closed before its end/);
    const again = ask({ ...methodAndTarget, content: source });
    await assert.rejects(again.response.whole(), /closed before its end/);
    assert.deepEqual([await peer.resetCode(1), await peer.resetCode(3)], [0x8, 0x8]);
    assert.equal(isEnded(peer, 1) || isEnded(peer, 3), false);
  });

  test('before its response does takes nothing from the response when it fails, which waits for its reader', async (context) => {
    const { peer, source, stream, response } = await begun(context);
    stream.pause();
    peer.write(okFrames(1, 'early'));
    assert.equal(await peer.resetCode(1), 0x8);
    source.destroy(new Error('the client went away'));
    await peer.settled();
    stream.resume();
    assert.equal(await response.whole(), 'early');
  });

  test('before its response does is reset, and the response is whole', async (context) => {
    const { peer, session, source, response } = await halfUploaded(context);
    peer.write(okFrames(1, 'early'));
    assert.equal(await response.whole(), 'early');
    assert.equal(await peer.resetCode(1), 0x8);
    // Content that comes later finds nobody, nor does a failure.
    source.write('late');
    source.destroy(new Error('the client went away'));
    await peer.settled();
    assert.equal(uploaded(peer, 1).toString(), 'half');
    assert.equal(session.streams, 0);
    assert.ok(session.isOpen);
  });

  test('because the server has reset it takes nothing more', async (context) => {
    const { peer, source, response } = await begun(context);
    await peer.settled();
    peer.write(headFrame(1, [':status', '200']), frame(frameType.rstStream, none, 1, uint32(0)));
    assert.equal((await response.failure()).errorCode, 0);
    source.end('late');
    await peer.settled();
    assert.deepEqual(peer.of(frameType.data), []);
  });
});

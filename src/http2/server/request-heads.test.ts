import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import {
  connectWithFrames,
  type FrameClient,
  requestLines,
  startWithFrames,
} from '../../../test/support/raw-http2-client.ts';
import { recordingLogger } from '../../../test/support/recording-logger.ts';
import { fieldBlock } from '../../../test/support/security/hpack.ts';
import { frame, frameFlag, frameType } from '../../../test/support/security/raw-http2.ts';

const { none, endStream, endHeaders } = frameFlag;
const enhanceYourCalm = 0xb;
const refusedStream = 0x7;
const fine = (): Response => new Response('fine');

/** HEADERS, and CONTINUATION for what does not fit. */
function headFrames(stream: number, lines: readonly string[] | Buffer, { isWhole = true } = {}): Buffer {
  const block = Buffer.isBuffer(lines) ? lines : fieldBlock(lines as readonly string[]);
  const frames: Buffer[] = [];
  for (let offset = 0; offset < block.length; offset += 16_384) {
    const isLast = isWhole && offset + 16_384 >= block.length;
    frames.push(
      frame(
        offset === 0 ? frameType.headers : frameType.continuation,
        (offset === 0 ? endStream : none) | (isLast ? endHeaders : none),
        stream,
        block.subarray(offset, offset + 16_384),
      ),
    );
  }
  return Buffer.concat(frames);
}

/** Enough memory for heads of 1 MiB, of which one may take a sixteenth. */
const roomy = { heldForOthers: 2 ** 26 };

/** More lines than are taken. */
function tooManyLines(): string[] {
  return manyLines(4_100);
}

/** So many lines of 52 bytes, as limits count them, in 23 bytes. */
function manyLines(count: number, path = '/'): string[] {
  return [...requestLines(path), ...Array.from({ length: count }, () => ['x-test', '01234567890123']).flat()];
}

describe('a head that is too large', () => {
  test('gets 431, and its connection stays open', async (context) => {
    const { client } = await startWithFrames(context, fine);
    client.write(headFrames(1, tooManyLines()));
    const { status, body } = await client.outcome(1);
    assert.equal(status, 431);
    assert.match(body, /"reason":"RequestHeaderFieldsTooLarge"/);
    client.request(3, requestLines());
    assert.equal((await client.outcome(3)).status, 200);
  });

  test('begins at 1 MiB, as for kube-apiserver, also without a certificate', async (context) => {
    const { client } = await startWithFrames(context, fine, { server: roomy });
    client.write(headFrames(1, manyLines(2_000)));
    assert.equal((await client.outcome(1)).status, 200);
    client.write(headFrames(3, [...requestLines(), 'x-large', 'a'.repeat(1_000_000)]));
    assert.equal((await client.outcome(3)).status, 200);
  });

  test('attack: an endless head is not read beyond the limit', async (context) => {
    const { client } = await startWithFrames(context, fine);
    const lines = [...requestLines(), 'x-large', 'a'.repeat(1024 * 1024)];
    client.write(headFrames(1, lines, { isWhole: false }));
    assert.equal(await client.goAwayCode(), enhanceYourCalm);
  });

  test('attack: repeated, it ends the connection', async (context) => {
    const { client } = await startWithFrames(context, fine);
    const most = 1_000;
    const block = fieldBlock(tooManyLines());
    for (let stream = 1; stream < 2 * most && !client.isOver; stream += 2) {
      client.write(headFrames(stream, block));
      await new Promise(setImmediate);
    }
    assert.equal(await client.goAwayCode(), enhanceYourCalm);
  });
});

describe('a head that does not end', () => {
  const server = { limits: { headerBlockTimeout: 50 } };
  const block = fieldBlock(requestLines());
  for (const [what, bytes] of Object.entries({
    'in the middle of its block': frame(frameType.headers, endStream, 1, block),
    'in the middle of a frame': frame(frameType.headers, endStream | endHeaders, 1, block).subarray(0, 20),
    'in the middle of the head of a frame': Buffer.alloc(5),
  })) {
    test(`attack: ${what} ends its connection in time`, async (context) => {
      const { client } = await startWithFrames(context, fine, { server });
      client.write(bytes);
      assert.equal(await client.goAwayCode(), enhanceYourCalm);
      await eventually(() => client.ended);
    });
  }

  test('is served when the rest comes', async (context) => {
    const { client } = await startWithFrames(context, fine);
    client.write(frame(frameType.headers, endStream, 1, block.subarray(0, 4)));
    await new Promise(setImmediate);
    client.write(frame(frameType.continuation, endHeaders, 1, block.subarray(4)));
    assert.equal((await client.outcome(1)).status, 200);
  });
});

test('attack: unfinished heads on many connections: the oldest is closed', async (context) => {
  // Clients without a certificate have half of it, and seven eighths of that for what can be given up.
  const reliefs: string[] = [];
  const { logger, lines } = recordingLogger();
  const observer = {
    secured() {},
    handshakeFailed() {},
    malformed() {},
    relieved: (relief: string) => reliefs.push(relief),
  };
  const server = { heldForOthers: 300_000, observer, logger };
  const { client, port } = await startWithFrames(context, fine, { server });
  const unfinished = headFrames(1, [...requestLines(), 'x-large', 'a'.repeat(45_000)], { isWhole: false });
  const begins = async (each: FrameClient): Promise<FrameClient> => {
    each.write(unfinished);
    // Nothing may be asked on it any more: wait until another connection has been served behind it.
    const other = await connectWithFrames(context, port);
    await other.settled();
    return each;
  };
  await begins(client);
  const second = await begins(await connectWithFrames(context, port));
  const third = await begins(await connectWithFrames(context, port));
  assert.equal(await client.goAwayCode(), enhanceYourCalm);
  assert.equal(second.isOver, false);
  assert.equal(third.isOver, false);
  // A head that takes more than a small part of what is left is refused so that its client repeats it.
  third.write(frame(frameType.continuation, endHeaders, 1));
  assert.equal(await third.resetCode(1), refusedStream);
  third.request(3, requestLines());
  assert.equal((await third.outcome(3)).status, 200);
  assert.deepEqual(reliefs, ['ended', 'refused']);
  assert.deepEqual(
    lines.map(({ level, message }) => [level, message.slice(0, 23)]),
    [['warn', 'Too many bytes are held']],
    'once in a while',
  );
});

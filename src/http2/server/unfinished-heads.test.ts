import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import {
  connectWithFrames,
  type FrameClient,
  requestLines,
  startWithFrames,
} from '../../../test/support/raw-http2-client.ts';
import { fieldBlock } from '../../../test/support/security/hpack.ts';
import { frame, frameFlag, frameType } from '../../../test/support/security/raw-http2.ts';
import type { VerifiedClientCertificate } from '../../request/inbound.ts';
import { UnfinishedHeads } from './unfinished-heads.ts';

const { none, endStream, endHeaders } = frameFlag;
const enhanceYourCalm = 0xb;
const clientCertificate: VerifiedClientCertificate = {
  commonName: 'user',
  organizations: [],
  sha256: '',
  authority: 'client-ca',
};
const fine = (): Response => new Response('fine');
/** Reads no certificate, and takes each for verified. */
const verified = { clientCertificateOf: () => ({ clientCertificate }) };

/** HEADERS, and CONTINUATION for what does not fit. */
function headFrames(stream: number, lines: readonly string[], { isWhole = true } = {}): Buffer {
  const block = fieldBlock(lines);
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

/** So many lines of 52 bytes, as limits count them, in 23 bytes. */
function manyLines(count: number, path = '/'): string[] {
  return [...requestLines(path), ...Array.from({ length: count }, () => ['x-test', '01234567890123']).flat()];
}

describe('a head that is too large', () => {
  test('gets 431, and its connection stays open', async (context) => {
    const { client } = await startWithFrames(context, fine);
    client.write(headFrames(1, manyLines(2_000)));
    const { status, body } = await client.outcome(1);
    assert.equal(status, 431);
    assert.match(body, /"reason":"RequestHeaderFieldsTooLarge"/);
    client.request(3, requestLines());
    assert.equal((await client.outcome(3)).status, 200);
  });

  test('begins at 1 MiB on a connection with a verified certificate', async (context) => {
    const { client } = await startWithFrames(context, fine, { server: verified });
    client.write(headFrames(1, manyLines(2_000)));
    assert.equal((await client.outcome(1)).status, 200);
    client.write(headFrames(3, [...requestLines(), 'x-large', 'a'.repeat(1_000_000)]));
    assert.equal((await client.outcome(3)).status, 200);
  });

  test('attack: an endless head is not read beyond the limit', async (context) => {
    const { client } = await startWithFrames(context, fine);
    const lines = [...requestLines(), 'x-large', 'a'.repeat(64 * 1024)];
    client.write(headFrames(1, lines, { isWhole: false }));
    assert.equal(await client.goAwayCode(), enhanceYourCalm);
  });

  test('attack: repeated, it ends the connection', async (context) => {
    const { client } = await startWithFrames(context, fine);
    const most = 1_000;
    for (let stream = 1; stream < 2 * most && !client.isOver; stream += 2) {
      client.write(headFrames(stream, manyLines(2_000)));
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
  const server = { limits: { maximumUnfinishedHeads: 100_000 } };
  const { client, port } = await startWithFrames(context, fine, { server });
  const unfinished = headFrames(1, [...requestLines(), 'x-large', 'a'.repeat(40_000)], { isWhole: false });
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
  // They may still end.
  const end = frame(frameType.continuation, endHeaders, 1);
  third.write(end);
  assert.equal((await third.outcome(1)).status, 200);
});

describe('the count of unfinished heads', () => {
  test('drops heads that end, and counts a growing head once', () => {
    const heads = new UnfinishedHeads({ maximumBytes: 100, timeout: 10_000 });
    const given: string[] = [];
    const one = { giveUp: () => given.push('one') };
    const two = { giveUp: () => given.push('two') };
    heads.hold(one, 10, true);
    heads.hold(one, 60, false);
    heads.hold(two, 40, true);
    assert.equal(heads.bytes, 100);
    heads.release(one);
    heads.release(one);
    assert.equal(heads.bytes, 40);
    assert.deepEqual(given, []);
  });

  test('attack: one head beyond the total limit is closed itself', () => {
    const heads = new UnfinishedHeads({ maximumBytes: 100, timeout: 10_000 });
    const given: string[] = [];
    heads.hold({ giveUp: () => given.push('one') }, 101, true);
    assert.deepEqual(given, ['one']);
    assert.equal(heads.bytes, 0);
  });

  test('a connection’s next head counts as the newest', () => {
    const heads = new UnfinishedHeads({ maximumBytes: 100, timeout: 10_000 });
    const given: string[] = [];
    const one = { giveUp: () => given.push('one') };
    const two = { giveUp: () => given.push('two') };
    heads.hold(one, 50, true);
    heads.hold(two, 50, true);
    heads.hold(one, 50, true);
    heads.hold(one, 60, false);
    assert.deepEqual(given, ['two']);
  });
});

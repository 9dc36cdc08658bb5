import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { type FrameKind, type FrameTarget, frameKinds, frameTargets, smallData } from '../frames/frame.ts';
import { LeakyBucket } from '../frames/leaky-bucket.ts';
import { eventually } from '../test/eventually.ts';
import { fieldBlock } from '../test/hpack.ts';
import { frame, frameFlag, frameType, type RawHttp2, uint32 } from '../test/raw-http2.ts';
import { requestLines, startWithFrames } from '../test/raw-http2-client.ts';
import { settingsFrame } from '../test/raw-http2-peer.ts';
import {
  AddressResets,
  addressTolerance,
  ClientBudgets,
  clientFrameRules,
  connectionTolerances,
  resetsInCrowd,
} from './client-budgets.ts';
import { ClosedStreams } from './server-session.ts';

/** One connection that resets streams. @returns how many before it is to end */
function resetsOf(addresses: AddressResets, address: string, now: number, most: number): number {
  const own = new LeakyBucket(connectionTolerances.resets);
  for (let count = 0; count < most; count++) {
    if (!own.add(now) || addresses.exceeds(address, own, now)) return count;
  }
  return most;
}

test('attack: a new connection for each batch of resets (CVE-2023-44487) allows only a few each', () => {
  const addresses = new AddressResets();
  const atOnce = Array.from({ length: 100 }, () => resetsOf(addresses, '192.0.2.1', 0, 1_000));
  assert.equal(atOnce[0], connectionTolerances.resets.burst);
  const sum = atOnce.reduce((total, count) => total + count, 0);
  assert.ok(sum <= addressTolerance.burst + 100 * resetsInCrowd, `${sum} resets`);
  assert.equal(atOnce.at(-1), resetsInCrowd);
  // Another address is none of it.
  assert.equal(resetsOf(addresses, '192.0.2.2', 0, 100), 100);
});

test('a client with an attacker’s address may still reset a stream now and then', () => {
  const addresses = new AddressResets();
  for (let count = 0; count < 100; count++) resetsOf(addresses, '192.0.2.1', 0, 1_000);
  assert.equal(resetsOf(addresses, '192.0.2.1', 0, resetsInCrowd), resetsInCrowd);
});

test('a client with an attacker’s address that leaves some of its watches keeps the others; one that leaves most does not', (context) => {
  context.mock.method(performance, 'now', () => 0);
  const addresses = new AddressResets();
  for (let count = 0; count < 100; count++) resetsOf(addresses, '192.0.2.1', 0, 1_000);
  const budgets = new ClientBudgets({
    maximumRefused: 1,
    isVerified: false,
    address: '192.0.2.1',
    addresses,
  });
  for (let watch = 0; watch < 30; watch++) budgets.requested();
  for (let left = 0; left < 15; left++) budgets.count('resets');
  assert.throws(() => budgets.count('resets'), /too many stream resets from this address/);
});

test('resets of an address are forgiven with time', () => {
  const addresses = new AddressResets();
  for (let count = 0; count < 100; count++) resetsOf(addresses, '192.0.2.1', 0, 1_000);
  const longAfter = 60_000;
  assert.equal(resetsOf(addresses, '192.0.2.1', longAfter, 150), 150);
});

test('attack: all addresses of one IPv6 /64 network count together', () => {
  const addresses = new AddressResets();
  for (let count = 0; count < 100; count++) {
    resetsOf(addresses, `2001:db8:0:7::${count.toString(16)}`, 0, 1_000);
  }
  assert.equal(addresses.size, 1);
  assert.equal(resetsOf(addresses, '2001:db8:0:7:1:2:3:4', 0, 1_000), resetsInCrowd);
  assert.equal(resetsOf(addresses, '2001:db8::8:1:2:3:4', 0, 100), 100);
});

test('attack: the number of remembered addresses is bounded', () => {
  const addresses = new AddressResets();
  for (let count = 0; count < 20_000; count++)
    resetsOf(addresses, `192.0.${count >> 8}.${count & 255}`, 0, 1);
  assert.equal(addresses.size, 4_096);
});

const { none, ack, endStream, endHeaders } = frameFlag;
const noError = 0x0;
const enhanceYourCalm = 0xb;

/** The frame of each row, on a stream. */
const frames: Readonly<Record<FrameKind, (stream: number) => Buffer>> = {
  DATA: (stream) => frame(frameType.data, none, stream, Buffer.alloc(smallData)),
  'DATA with little content': (stream) => frame(frameType.data, none, stream, Buffer.alloc(1)),
  'DATA without content or end': (stream) => frame(frameType.data, none, stream),
  'HEADERS of a message': (stream) =>
    frame(frameType.headers, endStream | endHeaders, stream, fieldBlock(requestLines('/never'))),
  'HEADERS of trailers': (stream) =>
    frame(frameType.headers, endStream | endHeaders, stream, fieldBlock(['x-sum', '1'])),
  'CONTINUATION of nothing': (stream) => frame(frameType.continuation, endHeaders, stream),
  PRIORITY: (stream) => frame(frameType.priority, none, stream, Buffer.alloc(5)),
  RST_STREAM: (stream) => frame(frameType.rstStream, none, stream, uint32(0x8)),
  SETTINGS: (stream) => (stream === 0 ? settingsFrame() : frame(frameType.settings, none, stream)),
  'SETTINGS that acknowledge': (stream) => frame(frameType.settings, ack, stream),
  PUSH_PROMISE: (stream) => frame(frameType.pushPromise, endHeaders, stream, uint32(2)),
  PING: (stream) => frame(frameType.ping, none, stream, Buffer.alloc(8)),
  'PING that acknowledges': (stream) => frame(frameType.ping, ack, stream, Buffer.alloc(8)),
  GOAWAY: (stream) => frame(frameType.goAway, none, stream, uint32(0, 0)),
  WINDOW_UPDATE: (stream) => frame(frameType.windowUpdate, none, stream, uint32(1)),
  'of an unknown type': (stream) => frame(0x77, none, stream),
};

/** A stream on which the frame is written, and what has to come before. */
const subject = 5;
const upload = (stream: number, path: string): Buffer =>
  frame(frameType.headers, endHeaders, stream, fieldBlock(requestLines(path, 'POST')));
const download = (stream: number, path: string): Buffer =>
  frame(frameType.headers, endStream | endHeaders, stream, fieldBlock(requestLines(path)));

/** A client with a request under way, so that its connection is in use, and a stream in that state. */
async function clientWith(
  context: TestContext,
  state: FrameTarget,
): Promise<{ client: RawHttp2; stream: number }> {
  const { client, http2 } = await startWithFrames(context, (request) =>
    new URL(request.url).pathname === '/never' ? new Promise(() => {}) : new Response('fine'),
  );
  client.write(download(1, '/never'));
  await client.settled();
  switch (state) {
    case 'connection':
      return { client, stream: 0 };
    case 'idle':
      return { client, stream: subject };
    case 'open':
      client.write(upload(subject, '/never'));
      break;
    case 'half-closed':
      client.write(download(subject, '/never'));
      break;
    case 'closed by us':
      client.write(upload(subject, '/fine'));
      assert.equal(await client.resetCode(subject), noError);
      break;
    case 'closed':
      client.write(download(subject, '/fine'));
      await eventually(() => client.hasEnded(subject));
      break;
    case 'after our GOAWAY':
      http2.close();
      assert.equal(await client.goAwayCode(), noError);
      return { client, stream: subject };
  }
  await client.settled();
  return { client, stream: subject };
}

/** Codes of the RST_STREAM frames on a stream, but for those that ask to stop sending. */
function issues(client: RawHttp2, stream: number): number[] {
  return client
    .of(frameType.rstStream, stream)
    .map(({ payload }) => payload.readUInt32BE(0))
    .filter((code) => code !== noError);
}

const isHeaders = (kind: FrameKind): boolean => kind.startsWith('HEADERS');

/** Frames on streams of their own, where the first of its kind ends what state its stream was in. */
function* flood(kind: FrameKind, state: FrameTarget, stream: number): Generator<Buffer> {
  const endsItsState = isHeaders(kind) || kind === 'RST_STREAM';
  for (let count = 0; ; count++) {
    if (endsItsState && (state === 'idle' || state === 'open' || state === 'half-closed')) {
      const own = subject + 2 + 2 * count;
      if (state === 'open') yield upload(own, '/never');
      if (state === 'half-closed') yield download(own, '/never');
      yield frames[kind](own);
    } else yield frames[kind](stream);
  }
}

for (const state of frameTargets) {
  describe(`on ${state === 'connection' ? 'the connection' : `a stream that is ${state}`}`, () => {
    for (const kind of frameKinds) {
      const rule = clientFrameRules[kind][state];
      test(`a frame ${kind}: ${rule.action}`, async (context) => {
        const { client, stream } = await clientWith(context, state);
        client.write(frames[kind](stream));
        if (rule.action === 'connection error') {
          // One GOAWAY says all that there is to say.
          if (state !== 'after our GOAWAY') assert.equal(await client.goAwayCode(), rule.code);
          await eventually(() => client.ended);
          return;
        }
        await client.settled();
        assert.deepEqual(issues(client, stream), rule.action === 'stream error' ? [rule.code] : []);
        assert.equal(client.ended, false);
      });

      const counts = 'counts' in rule ? rule.counts : undefined;
      if (rule.action !== 'connection error' && counts !== undefined) {
        test(`attack: a flood of frames ${kind} uses up the budget of ${counts}`, async (context) => {
          const { client, stream } = await clientWith(context, state);
          let written = 0;
          let batch: Buffer[] = [];
          for (const each of flood(kind, state, stream)) {
            batch.push(each);
            if (batch.length < 500) continue;
            client.write(...batch);
            batch = [];
            written += 500;
            await new Promise(setImmediate);
            if (client.isOver && state !== 'after our GOAWAY') break;
            if (client.ended || written > 50_000) break;
          }
          if (state !== 'after our GOAWAY') assert.equal(await client.goAwayCode(), enhanceYourCalm);
          await eventually(() => client.ended);
        });
      }
    }
  });
}

test('content within the granted window is counted in no budget', async (context) => {
  for (const state of ['open', 'closed by us', 'after our GOAWAY'] as const) {
    const { client, stream } = await clientWith(context, state);
    for (let count = 0; count < 250; count++) client.write(frames.DATA(stream));
    await client.settled();
    assert.deepEqual(issues(client, stream), []);
  }
});

test('content beyond the window of a stream that we reset is a frame on a closed stream', async (context) => {
  const { client, stream } = await clientWith(context, 'closed by us');
  const piece = Buffer.alloc(16_384);
  for (let count = 0; count < 4; count++) client.data(stream, piece);
  await client.settled();
  assert.deepEqual(issues(client, stream), []);
  client.data(stream, piece);
  client.data(stream, piece);
  await client.settled();
  assert.deepEqual(issues(client, stream), [0x5]);
});

test('attack: a frame of padding only counts as empty', async (context) => {
  const { client, stream } = await clientWith(context, 'open');
  const empty = frame(
    frameType.data,
    frameFlag.padded,
    stream,
    Buffer.concat([Buffer.from([255]), Buffer.alloc(255)]),
  );
  for (let count = 0; count < 400; count++) client.write(empty);
  assert.equal(await client.goAwayCode(), enhanceYourCalm);
});

test('a stream that we closed accepts the data in transit, and not a byte more', () => {
  const streams = new ClosedStreams();
  streams.opened(3);
  streams.giveUp(1, 100);
  streams.receive(1, 60);
  streams.receive(1, 40);
  assert.equal(streams.stateOf(1), 'closed by us');
  streams.receive(1, 1);
  assert.equal(streams.stateOf(1), 'closed');
  streams.receive(3, 1);
  assert.equal(streams.stateOf(3), 'closed');
});

test('attack: of endlessly many closed streams only the latest are remembered', () => {
  const streams = new ClosedStreams();
  for (let stream = 1; stream < 100_000; stream += 2) {
    streams.opened(stream);
    streams.giveUp(stream, 1);
  }
  assert.equal(streams.stateOf(99_999), 'closed by us');
  assert.equal(streams.stateOf(99_999 - 2 * 255), 'closed by us');
  assert.equal(streams.stateOf(99_999 - 2 * 256), 'closed');
});

import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { fieldBlock } from '../hpack.ts';
import { frame, frameFlag, frameType } from '../raw-http2.ts';
import { preface } from '../raw-http2-client.ts';
import { type Expected, methods, wovenAnswers } from './answers.ts';
import { ConnectionEnd } from './connection.ts';
import { type Outcome, plainExchange, Seen } from './exchanges.ts';
import { framesIn } from './frames.ts';
import { fuzz } from './fuzz.ts';
import { mutated } from './mutation.ts';
import { OurClient } from './our-sides.ts';

interface Answers {
  /** Everything that a server writes, as a byte string. */
  readonly bytes: string;
  /** The outcome that each request must have; left out where the bytes were changed at random. */
  readonly expected?: readonly Expected[];
  /** The code of the GOAWAY that the client must end the connection with. */
  readonly code?: number | null;
  /** Bytes of the pieces in which it is read. */
  readonly cuts: readonly number[];
}

const settings = frame(frameType.settings, frameFlag.none, 0);
const head = (...lines: string[]): Buffer => fieldBlock([':status', '200', ...lines]);
const byteString = (...frames: Buffer[]): string => Buffer.concat([settings, ...frames]).toString('latin1');

const seeds = [
  byteString(
    frame(frameType.headers, frameFlag.endHeaders, 1, head('content-length', '5')),
    frame(frameType.data, frameFlag.endStream, 1, Buffer.from('whole')),
    frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, 3, head('content-length', '900')),
    frame(frameType.headers, frameFlag.endHeaders, 5, head()),
    frame(frameType.data, frameFlag.none, 5, Buffer.from('a part')),
    frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, 5, fieldBlock(['trailer', 'x'])),
  ),
  byteString(
    frame(frameType.headers, frameFlag.endHeaders, 1, fieldBlock([':status', '103'])),
    frame(frameType.headers, frameFlag.none, 1, head()),
    frame(frameType.continuation, frameFlag.endHeaders, 1, fieldBlock(['a', 'b'])),
    frame(frameType.windowUpdate, frameFlag.none, 0, Buffer.from([0, 0, 1, 0])),
    frame(frameType.data, 0x8 | frameFlag.endStream, 1, Buffer.from('\x03data\0\0\0')),
    frame(frameType.rstStream, frameFlag.none, 3, Buffer.from([0, 0, 0, 7])),
    frame(frameType.goAway, frameFlag.none, 0, Buffer.from([0, 0, 0, 3, 0, 0, 0, 0])),
  ),
  byteString(
    frame(frameType.headers, frameFlag.endHeaders, 1, head()),
    ...['a', 'b', 'c'].map((text) => frame(frameType.data, frameFlag.none, 1, Buffer.alloc(400, text))),
    frame(frameType.data, frameFlag.endStream, 1, Buffer.from('end')),
  ),
  byteString(
    frame(frameType.headers, frameFlag.endHeaders, 1, head()),
    ...['a', 'b', 'c'].map((text) =>
      frame(frameType.data, frameFlag.padded, 1, Buffer.from(`\xff${text}${'\0'.repeat(255)}`, 'latin1')),
    ),
  ),
];

/** Frames' own bytes, and what HPACK takes for lengths, indices and sizes of its table. */
const pieces = [
  byteString(),
  ...seeds.map((seed) => seed.slice(9)),
  '\x00\x00\x00',
  '\x00\x00\x04\x03\x00\x00\x00\x00\x01',
  '\xff\xff\xff\xff',
  '\x7f\xff\xff\xff',
  '\x3f\xe1\x1f',
  '\x20',
  '\x88',
  '\xbe',
  '\x40\x01a\x01b',
  '\x0f\x0d',
];

/** Few, so that they are reached. */
const streamWindow = 1_024;

/** Bytes of DATA on a stream up to its end. */
function lengthOn(stream: number, bytes: Buffer): number {
  const data = framesIn(bytes).filter((each) => each.type === frameType.data && each.stream === stream);
  const end = data.findIndex(({ flags }) => (flags & frameFlag.endStream) !== 0);
  return data
    .slice(0, end === -1 ? undefined : end + 1)
    .reduce((sum, { payload }) => sum + payload.length, 0);
}

/** Bytes that a client grants on a stream. */
function grantedOn(stream: number, bytes: Buffer): number {
  return framesIn(bytes)
    .filter((each) => each.type === frameType.windowUpdate && each.stream === stream)
    .reduce((sum, { payload }) => sum + payload.readUInt32BE(), 0);
}

/** A whole one says how long it is, if it says so. */
function assertValid({ head, content, isWhole }: Seen, isHead: boolean): void {
  if (head === undefined) return;
  const status = Number(head[1]);
  assert.ok(status >= 200 && status <= 999);
  assert.ok(head.every((line) => !/[\r\n\0]/.test(line)));
  const length = head.indexOf('content-length');
  const hasContent = !isHead && status !== 204 && status !== 304;
  if (isWhole && hasContent && length !== -1) assert.equal(content.length, Number(head[length + 1]));
}

/** Byte for byte what the server has said, and no more than that. */
function assertIs({ head, content, isWhole, isRefused, isClosed }: Seen, expected: Expected): void {
  assert.deepEqual(head, expected.head);
  assert.ok(expected.content.subarray(0, content.length).equals(content), 'other content');
  assert.equal(isWhole, expected.end === 'whole');
  if (isWhole) assert.equal(content.length, expected.content.length, 'a part for the whole');
  assert.equal(isClosed, expected.end !== 'none');
  if (expected.end === 'failed') assert.equal(isRefused, expected.isRefused, 'whether it may be sent again');
}

fuzz<Answers>({
  name: 'http2-answers',
  runs: 800,
  arbitrary: fc
    .tuple(
      fc.oneof(
        wovenAnswers,
        mutated(
          fc.oneof(
            fc.constantFrom(...seeds),
            wovenAnswers.map(({ bytes }) => bytes),
          ),
          pieces,
        ).map((bytes) => ({ bytes })),
      ),
      fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 6 }),
    )
    .map(([answers, cuts]) => ({ ...answers, cuts })),
  async holds({ bytes, expected, code, cuts }) {
    const [near, far] = ConnectionEnd.pair(cuts);
    const written: Buffer[] = [];
    near.onWritten((piece) => written.push(piece));
    const client = new OurClient(near, { streamWindow, maximumHeaderLines: 16, maximumHeaderBytes: 1_024 });
    const outcomes = methods.map((method, index): Outcome => {
      const upload = method === 'POST' ? [4] : [];
      // The first one reads nothing until all is there.
      const exchange = { ...plainExchange, method, upload, pause: index === 0 ? 6 : 0 };
      return { exchange, request: new Seen(), response: new Seen(), isLate: false };
    });
    for (const [index, outcome] of outcomes.entries()) client.ask(outcome, index);
    const all = Buffer.from(bytes, 'latin1');
    far.on('error', () => {}).resume();
    far.write(all);
    for (let turns = 0; turns < 3; turns++) await turn();
    const isTooLong = lengthOn(1, all) > streamWindow && !near.destroyed;
    const [first] = outcomes;
    assert.ok(!isTooLong || first?.response.isClosed, 'more is taken than the window of a stream allows');
    for (let turns = 0; turns < 5; turns++) await turn();
    const frames = Buffer.concat(written).subarray(preface.length);
    for (const [index, { response }] of outcomes.entries()) {
      if (response.isClosed || near.destroyed) continue;
      const stream = 2 * index + 1;
      const used = lengthOn(stream, all) - grantedOn(stream, frames);
      assert.ok(2 * used < streamWindow, 'less than half is granted again of what was read, or is padding');
    }
    if (code !== undefined && code !== null) {
      const goAway = framesIn(frames).findLast(({ type }) => type === frameType.goAway);
      assert.equal(goAway?.payload.readUInt32BE(4), code);
      assert.ok(near.destroyed);
    }
    for (const [index, each] of (expected ?? []).entries()) {
      assert.ok(outcomes[index]);
      assertIs(outcomes[index].response, each);
    }
    near.destroy();
    await turn();
    for (const [index, { exchange, response }] of outcomes.entries()) {
      assert.ok(response.isClosed, 'it has no end');
      // Each was written, and what broke off may have been processed.
      if (expected?.[index]?.end === 'none') assert.equal(response.isRefused, false);
      assertValid(response, exchange.method === 'HEAD');
    }
  },
});

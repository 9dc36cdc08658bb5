import assert from 'node:assert/strict';
import { performServerHandshake } from 'node:http2';
import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import type { IncomingStream, ServerStream } from '../../server/server-stream.ts';

import { type Frame, frame, frameFlag, frameType } from '../raw-http2.ts';
import { ConnectionEnd } from './connection.ts';
import { never, plainExchange, Seen } from './exchanges.ts';
import { contentIn, framesIn, preface, settings, windowUpdate } from './frames.ts';
import { fuzz } from './fuzz.ts';
import { mutated } from './mutation.ts';
import { OurServer } from './our-sides.ts';
import { type Requests, wholeRequests } from './requests.ts';

/** Frames' own bytes, and what HPACK takes for lengths, indices and sizes of its table. */
const pieces = [
  ...[
    preface,
    '\x00\x00\x00',
    '\x00\x00\x00\x00\x01\x00\x00\x00\x01',
    '\x00\x00\x00\x01\x05\x00\x00\x00\x01',
  ],
  ...[
    settings(4, 1),
    settings(4, 2 ** 31),
    settings(5, 1),
    settings(1, 0),
    frame(frameType.goAway, frameFlag.none, 0),
  ]
    .concat(windowUpdate(0, 2 ** 31 - 1), windowUpdate(1, 0), windowUpdate(3, 9))
    .map((bytes) => bytes.toString('latin1')),
  ...['\xff\xff\xff\xff', '\x7f\xff\xff\xff', '\x3f\xe1\x1f', '\x20', '\x82', '\xbe', '\x40\x01a\x01b'],
  ...['\r\n', ':', ' ', 'A', '\x00\x05:path\x01/', '\x00\x0acontent-length\x015', '\x00\x02te\x01x'],
];

const flowControlError = 3;

/** A server's view of the requests. */
interface Received {
  readonly heads: (readonly string[])[];
  /** All that the server has written. */
  answers: Buffer;
}

const goAwayCode = ({ answers }: Received): number | null =>
  framesIn(answers)
    .findLast(({ type }) => type === frameType.goAway)
    ?.payload.readUInt32BE(4) ?? null;

const lastFrame = frame(frameType.ping, frameFlag.none, 0, Buffer.from('the last'));

/** Writes to a server as its client. @returns when it has answered the last frame, or has ended it all */
async function writeAll(client: ConnectionEnd, { bytes }: Requests, received: Received): Promise<void> {
  let isOver = false;
  client.on('data', (chunk: Buffer) => {
    received.answers = Buffer.concat([received.answers, chunk]);
    isOver ||= received.answers.includes('the last') || goAwayCode(received) !== null;
  });
  client
    .on('error', () => {})
    .on('close', () => {
      isOver = true;
    });
  client.write(Buffer.concat([Buffer.from(bytes, 'latin1'), lastFrame]));
  // A frame that is not whole is answered by nobody.
  for (let turns = 0; !isOver && turns < 100 + bytes.length / 4; turns++) await turn();
  for (let turns = 0; turns < 3; turns++) await turn();
}

/** The reference: nghttp2. */
async function receivedByNode(requests: Requests): Promise<Received> {
  const received: Received = { heads: [], answers: Buffer.alloc(0) };
  const [client, server] = ConnectionEnd.pair(requests.cuts);
  const options = { maxHeaderListPairs: 1_000, settings: { maxHeaderListSize: 2 ** 20 } };
  const session = performServerHandshake(server, options);
  session.on('error', () => {});
  session.on('stream', (stream, _headers, _flags, lines) => {
    received.heads.push(lines);
    stream.on('error', () => {}).resume();
  });
  await writeAll(client, requests, received);
  session.destroy();
  client.destroy();
  return received;
}

function assertValidHead({ method, target, headers }: IncomingStream['head']): void {
  assert.match(method, /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/);
  assert.match(target, method === 'OPTIONS' ? /^(?:\/|\*$)/ : /^\//);
  assert.doesNotMatch(target, /[\r\n\0]/);
  for (const [index, text] of headers.entries()) {
    if (index % 2 === 1) {
      assert.doesNotMatch(text, /[\r\n\0]/);
      if (headers[index - 1] === 'te') assert.equal(text.toLowerCase(), 'trailers');
    } else {
      assert.match(text, /^[^A-Z:\s\0]+$/);
      assert.doesNotMatch(text, /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/);
    }
  }
}

/** The content that has come is a part of the content that was sent, and within the window of its stream. */
function assertContent(seen: Seen, contentLength: number | undefined, data: Frame[], granted: number): void {
  const whole = Buffer.concat(data.map(contentIn));
  const read = seen.content;
  assert.ok(whole.subarray(0, read.length).equals(read), 'other content');
  if (seen.isWhole) {
    assert.equal(read.length, whole.length, 'a part for the whole');
    assert.equal(read.length, contentLength ?? whole.length, 'another length than it was said to have');
  }
  const taken = data.reduce((sum, { payload }) => sum + payload.length, 0);
  assert.ok(taken <= granted || seen.isClosed, 'more is taken than the window of a stream allows');
}

/** The frames of a request, up to its end. */
function messageOn(id: number, sent: readonly Frame[]): Frame[] {
  const frames = sent.filter(
    ({ type, stream }) => stream === id && (type === frameType.data || type === frameType.headers),
  );
  const end = frames.findIndex(({ flags }) => (flags & frameFlag.endStream) !== 0);
  return end === -1 ? frames : frames.slice(0, end + 1);
}

async function receivedByRouter(requests: Requests): Promise<Received> {
  const { bytes, heads, cuts, maximumHeaderLines } = requests;
  const received: Received = { heads: [], answers: Buffer.alloc(0) };
  const given: { readonly id: number; readonly head: IncomingStream['head']; readonly seen: Seen }[] = [];
  const limits = { maximumHeaderLines, maxConcurrentStreams: heads === null ? 3 : 100 };
  const refusal = (status: number): Response => {
    if (status === 431) received.heads.push(['too large']);
    return new Response(null, { status });
  };
  const [client, end] = ConnectionEnd.pair(cuts);
  const server = new OurServer(end, { refusal, limits }, (incoming) => {
    const { head, id } = incoming as ServerStream;
    const request = new Seen();
    given.push({ id, head, seen: request });
    const { method, target, authority, headers } = head;
    const pseudo = [':method', method, ':scheme', 'https', ':authority', authority, ':path', target];
    received.heads.push([...pseudo, ...headers]);
    assert.ok(given.filter(({ seen }) => !seen.isClosed).length <= limits.maxConcurrentStreams);
    const isPatient = given.length > requests.answered;
    const exchange = { ...plainExchange, isPatient, download: [5], pause: requests.isRead ? 0 : never };
    return { exchange, request, response: new Seen(), isLate: false };
  });
  await writeAll(client, requests, received);
  const sent = framesIn(
    Buffer.concat([Buffer.from(bytes, 'latin1'), lastFrame]).subarray(preface.length),
    'and begun',
  );
  for (const { id, head, seen } of given) {
    assertValidHead(head);
    assert.ok(!seen.isWhole || requests.neverWhole?.includes(id) !== true, 'a part seems whole');
    const granted = framesIn(received.answers)
      .filter(({ type, stream }) => type === frameType.windowUpdate && stream === id)
      .reduce((sum, { payload }) => sum + payload.readUInt32BE(), 65_536);
    const data = messageOn(id, sent).filter(({ type }) => type === frameType.data);
    assertContent(seen, head.contentLength, data, granted);
  }
  client.destroy();
  end.destroy();
  await turn();
  server.check();
  assert.ok(given.every(({ seen }) => seen.isClosed));
  return received;
}

fuzz<Requests>({
  name: 'http2-requests',
  runs: 150,
  arbitrary: fc
    .tuple(
      fc.oneof(
        { weight: 3, arbitrary: wholeRequests },
        mutated(
          wholeRequests.map(({ bytes }) => bytes),
          pieces,
        ).map((bytes) => ({ bytes, heads: null, code: null })),
      ),
      fc.record({
        cuts: fc.array(fc.integer({ min: 1, max: 5_000 }), { maxLength: 3 }),
        maximumHeaderLines: fc.constantFrom(8, 4_096, 4_096, 4_096),
        isRead: fc.boolean(),
        answered: fc.nat({ max: 4 }),
      }),
    )
    .map(([sent, how]) => ({ ...sent, ...how })),
  async holds(requests) {
    const { heads, code, maximumHeaderLines } = requests;
    const byRouter = await receivedByRouter(requests);
    if (heads === null) return;
    const byNode = await receivedByNode(requests);
    // nghttp2 ends the connection where a window is exceeded, and only leaves out a line that is malformed.
    if (requests.isBeyondNode !== true && goAwayCode(byNode) !== flowControlError) {
      assert.deepEqual(
        byNode.heads.slice(0, heads.length),
        heads,
        'the test writes what nghttp2 reads otherwise',
      );
      assert.equal(goAwayCode(byNode), code);
    }
    const withinLimits = heads.map((lines) =>
      lines.length > 2 * maximumHeaderLines ? ['too large'] : lines,
    );
    // A head that is malformed may be too large besides.
    const [first] = byRouter.heads.slice(heads.length);
    assert.deepEqual(byRouter.heads, first?.[0] === 'too large' ? [...withinLimits, first] : withinLimits);
    assert.equal(goAwayCode(byRouter), code);
  },
});

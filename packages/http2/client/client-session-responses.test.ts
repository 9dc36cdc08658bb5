import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HeaderDecoder } from '../hpack/header-decoder.ts';
import { openSessionWithPeer, openSessionWithRequest } from '../test/client-session.ts';
import { eventually } from '../test/eventually.ts';
import { fieldBlock, indexed, indexedLiteral } from '../test/hpack.ts';
import { frame, frameFlag, frameType } from '../test/raw-http2.ts';
import { dataFrame, headFrame, okFrames } from '../test/raw-http2-peer.ts';

const { none, endHeaders, endStream, padded } = frameFlag;
const protocolError = 0x1;
const enhanceYourCalm = 0xb;
const ok = [':status', '200'];

test('interim heads are dropped, and only the final one is handed on', async (context) => {
  const { peer, response } = await openSessionWithRequest(context);
  peer.write(
    headFrame(1, [':status', '100']),
    headFrame(1, [':status', '103', 'link', '</x>; rel=preload', 'content-length', '7']),
    headFrame(1, [':status', '199']),
    headFrame(1, [':status', '201', 'x-final', 'yes']),
    dataFrame(1, 'created', endStream),
  );
  assert.equal(await response.whole(), 'created');
  assert.deepEqual(response.statuses, [201]);
  assert.deepEqual(response.lines, ['x-final', 'yes']);
});

test('a response may come in frames of a window each', async (context) => {
  const { peer, response } = await openSessionWithRequest(context);
  peer.write(headFrame(1, ok), dataFrame(1, Buffer.alloc(65_536, 'x'), endStream));
  assert.equal((await response.whole()).length, 65_536);
});

test('trailers are dropped, and end the response', async (context) => {
  const { peer, response } = await openSessionWithRequest(context);
  peer.write(
    headFrame(1, [...ok, 'trailer', 'x-checksum']),
    dataFrame(1, 'whole'),
    headFrame(1, ['x-checksum', '1', 'content-length', '99'], endStream),
  );
  assert.equal(await response.whole(), 'whole');
  assert.deepEqual(response.lines, ['trailer', 'x-checksum']);
});

describe('a response without content', () => {
  for (const [name, method, lines] of [
    ['to HEAD may have a Content-Length', 'HEAD', [...ok, 'content-length', '5']],
    ['with 204', 'GET', [':status', '204']],
    ['with 304 may have a Content-Length', 'GET', [':status', '304', 'content-length', '5']],
    ['with Content-Length 0', 'GET', [...ok, 'content-length', '0']],
    ['and without a Content-Length', 'GET', ok],
  ] as const) {
    test(name, async (context) => {
      const { peer, ask } = await openSessionWithPeer(context);
      const [first, second] = [ask({ method }), ask({ method })];
      await peer.settled();
      // The end in the head, or behind it.
      peer.write(headFrame(1, lines, endStream), headFrame(3, lines), dataFrame(3, '', endStream));
      assert.equal(await first.response.whole(), '');
      assert.equal(await second.response.whole(), '');
      assert.deepEqual(first.response.lines, lines.slice(2));
    });
  }
});

/** Faults that end one stream only: each by its name, with the frames that the server writes on stream 1. */
const malformed: readonly (readonly [string, readonly Buffer[]])[] = [
  ['DATA in front of a head', [dataFrame(1, 'data')]],
  ['an end in front of a head', [dataFrame(1, '', endStream)]],
  ['101 Switching Protocols', [headFrame(1, [':status', '101'])]],
  ['an interim head that ends the stream', [headFrame(1, [':status', '100'], endStream)]],
  ['DATA behind an interim head', [headFrame(1, [':status', '100']), dataFrame(1, 'data')]],
  ['no status', [headFrame(1, ['x-test', 'a'])]],
  ['an empty head', [frame(frameType.headers, endHeaders, 1)]],
  ['a status that is none', [headFrame(1, [':status', '20x'])]],
  ['two statuses', [headFrame(1, [...ok, ':status', '201'])]],
  ['a late pseudo-header field', [headFrame(1, [':status', '200', 'x-test', 'a', ':path', '/'])]],
  ['two Content-Lengths', [headFrame(1, [...ok, 'content-length', '4', 'content-length', '4'])]],
  ['a Content-Length that is no number', [headFrame(1, [...ok, 'content-length', '4, 4'])]],
  ['a name in upper case', [headFrame(1, [...ok, 'X-Test', 'a'])]],
  ['a line of an HTTP/1.1 connection', [headFrame(1, [...ok, 'transfer-encoding', 'chunked'])]],
  ['CR LF in a value', [headFrame(1, [...ok, 'x-test', 'a\r\nset-cookie: a'])]],
  ['NUL in a value', [headFrame(1, [...ok, 'x-test', 'a\0b'])]],
  ['LF in a name', [headFrame(1, [...ok, 'x-test\na', 'b'])]],
  ['a second head in place of trailers', [headFrame(1, ok), headFrame(1, ok, endStream)]],
  ['trailers that are not the end', [headFrame(1, ok), headFrame(1, ['x-test', 'a'])]],
  ['LF in trailers', [headFrame(1, ok), headFrame(1, ['x-test', 'a\nb'], endStream)]],
  ['more than its Content-Length', [headFrame(1, [...ok, 'content-length', '4']), dataFrame(1, 'whole')]],
  [
    'more than its Content-Length, in pieces',
    [headFrame(1, [...ok, 'content-length', '4']), dataFrame(1, 'who'), dataFrame(1, 'le')],
  ],
  [
    'less than its Content-Length',
    [headFrame(1, [...ok, 'content-length', '6']), dataFrame(1, 'whole', endStream)],
  ],
  [
    'less than its Content-Length, before trailers',
    [
      headFrame(1, [...ok, 'content-length', '6']),
      dataFrame(1, 'whole'),
      headFrame(1, ['x-test', 'a'], endStream),
    ],
  ],
  [
    'padding counted as content',
    [
      headFrame(1, [...ok, 'content-length', '6']),
      dataFrame(1, Buffer.from([2, 0x61, 0x62, 0x63, 0, 0]), padded | endStream),
    ],
  ],
  ['nothing of its Content-Length', [headFrame(1, [...ok, 'content-length', '6'], endStream)]],
  ['content with 204', [headFrame(1, [':status', '204']), dataFrame(1, 'data', endStream)]],
  [
    'content with 304',
    [headFrame(1, [':status', '304', 'content-length', '4']), dataFrame(1, 'data', endStream)],
  ],
];

describe('attack: one malformed response ends its stream, and leaves the others on its connection alone', () => {
  for (const [name, frames] of malformed) {
    test(name, async (context) => {
      const { peer, ask, session } = await openSessionWithPeer(context);
      const [faulty, begun, later] = [ask(), ask(), ask()];
      await peer.settled();
      peer.write(headFrame(3, ok), dataFrame(3, 'be'), ...frames, dataFrame(3, 'gun', endStream));
      const failure = await faulty.response.failure();
      assert.equal(failure.scope, 'stream');
      assert.ok(failure.isInvalidResponse);
      assert.equal(faulty.response.refused, false);
      assert.equal(await peer.resetCode(1), protocolError);
      assert.equal(await begun.response.whole(), 'begun');
      // Frames that come for the stream later are passed over.
      peer.write(dataFrame(1, 'late'), headFrame(1, ['x-late', 'a'], endStream), okFrames(5, 'later'));
      assert.equal(await later.response.whole(), 'later');
      assert.equal(peer.of(frameType.rstStream).length, 1);
      assert.ok(session.isOpen);
    });
  }
});

test('content with HEAD ends the stream as malformed', async (context) => {
  const { peer, response } = await openSessionWithRequest(context, { method: 'HEAD' });
  peer.write(headFrame(1, [...ok, 'content-length', '4']), dataFrame(1, 'data', endStream));
  assert.equal((await response.failure()).errorCode, protocolError);
  assert.equal(response.content, '');
});

describe('attack: a head over the limits ends its stream, and the next head on the connection is read rightly', () => {
  for (const [name, lines] of [
    ['too many lines', Array.from({ length: 101 }, (_, index) => [`x-${index}`, 'a']).flat()],
    ['too many bytes', Array.from({ length: 70 }, (_, index) => [`x-${index}`, 'a'.repeat(1_000)]).flat()],
  ] as const) {
    test(name, async (context) => {
      const { peer, ask } = await openSessionWithPeer(context);
      const [faulty, next] = [ask(), ask()];
      await peer.settled();
      // The lines are entries of the table, and few bytes on the wire: `x-kilo` is named again and again.
      const bomb = Buffer.concat([
        indexedLiteral(':status', '200'),
        indexedLiteral('x-kilo', 'k'.repeat(1_000)),
        ...(name === 'too many bytes' ? Array.from({ length: 70 }, () => indexed(62)) : [fieldBlock(lines)]),
        indexedLiteral('x-last', 'entry'),
      ]);
      assert.ok(bomb.length < 16_384);
      peer.write(frame(frameType.headers, endHeaders, 1, bomb));
      const failure = await faulty.response.failure();
      assert.equal(failure.scope, 'stream');
      assert.ok(failure.isInvalidResponse);
      assert.equal(await peer.resetCode(1), enhanceYourCalm);
      const referring = Buffer.concat([indexed(64), indexed(62)]);
      peer.write(frame(frameType.headers, endHeaders | endStream, 3, referring));
      assert.equal(await next.response.whole(), '');
      assert.deepEqual(next.response.statuses, [200]);
      assert.deepEqual(next.response.lines, ['x-last', 'entry']);
    });
  }
});

test('attack: a head over the limits as it is coded ends its stream, and what is open beside it goes on', async (context) => {
  const { peer, ask, session } = await openSessionWithPeer(context);
  const [faulty, beside] = [ask(), ask()];
  await peer.settled();
  const block = fieldBlock([...ok, 'x-large', 'v'.repeat(80 * 1024)]);
  peer.write(
    headFrame(3, ok),
    dataFrame(3, 'be'),
    frame(frameType.headers, endStream, 1, block.subarray(0, 16_384)),
    ...[1, 2, 3, 4].map((part) =>
      frame(frameType.continuation, none, 1, block.subarray(16_384 * part, 16_384 * (part + 1))),
    ),
    frame(frameType.continuation, endHeaders, 1, block.subarray(16_384 * 5)),
    dataFrame(3, 'side', endStream),
  );
  const failure = await faulty.response.failure();
  assert.equal(failure.scope, 'stream');
  assert.ok(failure.isInvalidResponse);
  assert.equal(await beside.response.whole(), 'beside');
  assert.ok(session.isOpen);
});

test('attack: interim heads without end end their stream', async (context) => {
  const { peer, ask, session } = await openSessionWithPeer(context);
  const [faulty, beside] = [ask(), ask()];
  await peer.settled();
  const interim = headFrame(1, [':status', '103', 'x-hint', 'a']);
  peer.write(...Array.from({ length: 2_100 }, () => interim), okFrames(1, 'late'), okFrames(3, 'beside'));
  const failure = await faulty.response.failure();
  assert.equal(failure.scope, 'stream');
  assert.ok(failure.isInvalidResponse);
  assert.equal(await beside.response.whole(), 'beside');
  assert.ok(session.isOpen);
});

test('a head of more than 16 KiB comes in CONTINUATION, both ways', async (context) => {
  const { peer, ask } = await openSessionWithPeer(context);
  const headers = Array.from({ length: 50 }, (_, index) => [`x-line-${index}`, 'v'.repeat(1_000)]).flat();
  const { response } = ask({ headers });
  const small = ask();
  await peer.settled();
  const sent = peer.frames.filter(({ stream }) => stream === 1);
  assert.deepEqual(
    sent.map(({ type, flags }) => [type, flags]),
    [
      [frameType.headers, endStream],
      [frameType.continuation, none],
      [frameType.continuation, none],
      [frameType.continuation, endHeaders],
    ],
  );
  assert.ok(sent.every(({ payload }) => payload.length <= 16_384));
  const decoder = new HeaderDecoder({ maximumLines: 100, maximumSize: 100_000 });
  const received = decoder.decode(Buffer.concat(sent.map(({ payload }) => payload))).lines;
  assert.deepEqual(received.slice(8), headers);
  const block = fieldBlock([...ok, ...headers]);
  peer.write(
    frame(frameType.headers, endStream, 1, block.subarray(0, 16_384)),
    frame(frameType.continuation, none, 1, block.subarray(16_384, 32_768)),
    frame(frameType.continuation, none, 1),
    frame(frameType.continuation, none, 1, block.subarray(32_768, 49_152)),
    frame(frameType.continuation, endHeaders, 1, block.subarray(49_152)),
    okFrames(3, 'small'),
  );
  assert.equal(await response.whole(), '');
  assert.deepEqual(response.lines, headers);
  assert.equal(await small.response.whole(), 'small');
});

test('attack: nothing of the request of one caller shows in the bytes that are sent for another', async (context) => {
  const secret = { headers: ['authorization', 'Bearer secret', 'x-remote-user', 'alice', 'x-own', 'value'] };
  const used = await openSessionWithPeer(context);
  for (let count = 0; count < 3; count++) used.ask(secret);
  used.ask(secret);
  const fresh = await openSessionWithPeer(context);
  fresh.ask();
  fresh.ask(secret);
  for (const { peer } of [used, fresh]) {
    await peer.settled();
    await eventually(() => peer.of(frameType.headers).length > 1);
  }
  // The same bytes, whoever has asked for the same or for something else before; the last differs in its port only.
  const [, second, , last] = used.peer.of(frameType.headers);
  const alone = fresh.peer.of(frameType.headers, 3)[0];
  assert.ok(second && last && alone);
  assert.deepEqual(last.payload, second.payload);
  const withoutPort = (payload: Buffer): string => payload.toString('latin1').replace(/127\.0\.0\.1:\d+/, '');
  assert.equal(withoutPort(alone.payload), withoutPort(second.payload));
});

test('the first block sets the table of the server to nothing, and no other does', async (context) => {
  const { peer, ask } = await openSessionWithPeer(context);
  assert.throws(() => ask({ target: '' }));
  ask();
  ask();
  await peer.settled();
  const [first, second] = peer.of(frameType.headers);
  assert.ok(first && second);
  assert.equal(first.payload[0], 0x20);
  assert.deepEqual(second.payload, first.payload.subarray(1));
});

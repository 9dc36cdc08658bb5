import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openSession, openSessionWithPeer, openSessionWithRequest } from '../test/client-session.ts';
import { eventually } from '../test/eventually.ts';
import { fieldBlock, indexed } from '../test/hpack.ts';
import { frame, frameFlag, frameType, uint32 } from '../test/raw-http2.ts';
import {
  dataFrame,
  headFrame,
  okFrames,
  settingsFrame,
  startRawHttp2Server,
} from '../test/raw-http2-peer.ts';

const { none, ack, endHeaders, endStream, padded } = frameFlag;
const protocolError = 0x1;
const flowControlError = 0x3;
const frameSizeError = 0x6;
const compressionError = 0x9;
const enhanceYourCalm = 0xb;
const block = fieldBlock([':status', '200']);
const type = frameType;

/**
 * Frames that a server may not write while requests are open on streams 1 and 3, and the code that the server is told.
 */
const issues: readonly (readonly [string, number, readonly Buffer[]])[] = [
  [
    'PUSH_PROMISE',
    protocolError,
    [frame(type.pushPromise, endHeaders, 1, Buffer.concat([uint32(2), block]))],
  ],
  ['HEADERS on stream 0', protocolError, [frame(type.headers, endHeaders, 0, block)]],
  ['HEADERS on a stream of its own', protocolError, [frame(type.headers, endHeaders, 2, block)]],
  ['HEADERS on a stream that was never opened', protocolError, [headFrame(5, [':status', '200'])]],
  ['DATA on stream 0', protocolError, [dataFrame(0, 'data')]],
  ['DATA on a stream that was never opened', protocolError, [dataFrame(5, 'data')]],
  ['RST_STREAM on stream 0', protocolError, [frame(type.rstStream, none, 0, uint32(0))]],
  [
    'RST_STREAM on a stream that was never opened',
    protocolError,
    [frame(type.rstStream, none, 5, uint32(8))],
  ],
  ['RST_STREAM of three bytes', frameSizeError, [frame(type.rstStream, none, 1, Buffer.alloc(3))]],
  [
    'WINDOW_UPDATE on a stream that was never opened',
    protocolError,
    [frame(type.windowUpdate, none, 5, uint32(1))],
  ],
  ['WINDOW_UPDATE of five bytes', frameSizeError, [frame(type.windowUpdate, none, 1, Buffer.alloc(5))]],
  ['WINDOW_UPDATE of 0 for the connection', protocolError, [frame(type.windowUpdate, none, 0, uint32(0))]],
  [
    'WINDOW_UPDATE beyond 2^31-1 for the connection',
    flowControlError,
    [frame(type.windowUpdate, none, 0, uint32(2 ** 31 - 1))],
  ],
  [
    'a frame longer than the 256 KiB that it was allowed',
    frameSizeError,
    [headFrame(1, [':status', '200']), dataFrame(1, Buffer.alloc(256 * 1024 + 1))],
  ],
  ['SETTINGS on a stream', protocolError, [frame(type.settings, none, 1)]],
  ['SETTINGS with a part of an entry', frameSizeError, [frame(type.settings, none, 0, Buffer.alloc(5))]],
  ['an acknowledgement with settings in it', frameSizeError, [frame(type.settings, ack, 0, Buffer.alloc(6))]],
  ['an initial window beyond 2^31-1', flowControlError, [settingsFrame(4, 2 ** 31)]],
  [
    'an initial window that takes one of a stream beyond 2^31-1',
    flowControlError,
    [frame(type.windowUpdate, none, 1, uint32(2 ** 31 - 1 - 65_535)), settingsFrame(4, 65_536)],
  ],
  ['PING on a stream', protocolError, [frame(type.ping, none, 1, Buffer.alloc(8))]],
  ['PING of seven bytes', frameSizeError, [frame(type.ping, none, 0, Buffer.alloc(7))]],
  ['GOAWAY on a stream', protocolError, [frame(type.goAway, none, 1, uint32(1, 0))]],
  ['GOAWAY of seven bytes', frameSizeError, [frame(type.goAway, none, 0, Buffer.alloc(7))]],
  ['CONTINUATION without HEADERS', protocolError, [frame(type.continuation, endHeaders, 1, block)]],
  [
    'CONTINUATION of another stream',
    protocolError,
    [frame(type.headers, none, 1, block), frame(type.continuation, endHeaders, 3)],
  ],
  [
    'another frame in the middle of a block',
    protocolError,
    [frame(type.headers, none, 1, block), frame(type.ping, none, 0, Buffer.alloc(8))],
  ],
  [
    'an unknown frame in the middle of a block',
    protocolError,
    [frame(type.headers, none, 1, block), frame(0xfa, none, 1)],
  ],
  [
    'DATA in the middle of a block',
    protocolError,
    [frame(type.headers, none, 1, block), dataFrame(1, 'data')],
  ],
  [
    'the head of another stream in the middle of a block',
    protocolError,
    [frame(type.headers, none, 1, block), headFrame(3, [':status', '200'])],
  ],
  ['a block that cannot be read', compressionError, [frame(type.headers, endHeaders, 1, indexed(62))]],
  [
    'padding beyond the end of DATA',
    protocolError,
    [headFrame(1, [':status', '200']), dataFrame(1, Buffer.from([5, 0, 0]), padded)],
  ],
  [
    'a flood of CONTINUATION',
    enhanceYourCalm,
    [
      frame(type.headers, none, 1, block),
      ...Array.from({ length: 1_000 }, () => frame(type.continuation, none, 1)),
    ],
  ],
];

describe('attack: what breaks the protocol ends the connection, says why, and fails each response as invalid', () => {
  for (const [name, code, frames] of issues) {
    test(name, async (context) => {
      const { session, peer, events, ask } = await openSessionWithPeer(context);
      const asked = [ask(), ask()];
      await peer.settled();
      peer.write(...frames);
      for (const { response } of asked) {
        const failure = await response.failure();
        assert.equal(failure.scope, 'connection');
        assert.equal(failure.errorCode, code);
        assert.ok(failure.isInvalidResponse);
        assert.equal(response.refused, false);
      }
      assert.equal(await peer.goAwayCode(), code);
      await eventually(() => peer.socket.closed && events.at(-1) === 'closed');
      assert.equal(session.isOpen, false);
      assert.equal(session.streams, 0);
      assert.throws(() => ask());
    });
  }
});

describe('attack: a first frame that is not SETTINGS ends the connection', () => {
  for (const [name, first] of [
    ['PING', frame(type.ping, none, 0, Buffer.alloc(8))],
    ['an acknowledgement of ours', frame(type.settings, ack, 0)],
    ['a head', headFrame(1, [':status', '200'])],
    ['DATA', dataFrame(1, 'data')],
    ['an unknown frame', frame(0xfa, none, 0)],
    ['HTTP/1.1', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n')],
  ] as const) {
    test(name, async (context) => {
      const { port, peers } = await startRawHttp2Server(context, { first });
      const { events } = await openSession(context, port);
      assert.deepEqual(events, ['closed']);
      const code = await peers[0]?.goAwayCode();
      assert.equal(code, name === 'HTTP/1.1' ? frameSizeError : protocolError);
    });
  }
});

test('frames of unknown types, PRIORITY, unknown flags and reserved bits are passed over', async (context) => {
  const { peer, response } = await openSessionWithRequest(context);
  peer.write(
    frame(0xfa, 0xff, 1, Buffer.from('unknown')),
    frame(0xfa, 0xff, 77, Buffer.from('unknown')),
    frame(type.priority, none, 1, Buffer.alloc(5)),
    frame(type.headers, endHeaders | 0x40, 0x8000_0001, block),
    frame(type.windowUpdate, none, 1, uint32(0x8000_0001)),
    dataFrame(1, 'whole', endStream | 0x40),
  );
  assert.equal(await response.whole(), 'whole');
});

test('frames for a stream that is over are passed over, and their header lines still enter the table', async (context) => {
  const { peer, ask } = await openSessionWithPeer(context);
  const first = ask();
  const second = ask();
  await peer.settled();
  first.stream.reset(0x8, new Error('given up'));
  const indexing = Buffer.concat([
    Buffer.from('\x48\x03299', 'latin1'),
    Buffer.from('\x40\x06x-late\x05entry', 'latin1'),
  ]);
  peer.write(
    frame(type.headers, endHeaders, 1, indexing),
    dataFrame(1, 'late'),
    frame(type.windowUpdate, none, 1, uint32(1)),
    frame(type.rstStream, none, 1, uint32(0)),
    frame(type.headers, endHeaders, 3, Buffer.concat([indexed(63), indexed(62)])),
    dataFrame(3, 'whole', endStream),
  );
  assert.equal(await second.response.whole(), 'whole');
  assert.deepEqual(second.response.statuses, [299]);
  assert.deepEqual(second.response.lines, ['x-late', 'entry']);
  assert.deepEqual(first.response.statuses, []);
});

test('PING is answered with its own payload, SETTINGS are acknowledged, and acknowledgements are not', async (context) => {
  const { peer, session } = await openSessionWithPeer(context);
  const payload = Buffer.from([0xff, 0, 1, 2, 0x80, 0x7f, 0xfe, 9]);
  peer.write(
    frame(type.ping, ack, 0, payload),
    frame(type.ping, none, 0, payload),
    settingsFrame(3, 7),
    frame(type.settings, ack, 0),
  );
  await peer.settled();
  assert.deepEqual(peer.of(type.ping)[0]?.payload, payload);
  assert.equal(peer.of(type.ping).length, 2);
  const acknowledged = peer.of(type.settings).filter(({ flags }) => flags === ack);
  assert.equal(acknowledged.length, 2);
  assert.equal(session.serverSettings?.maxConcurrentStreams, 7);
});

for (const [name, flood] of [
  ['PING', frame(type.ping, none, 0, Buffer.alloc(8))],
  ['SETTINGS', settingsFrame()],
] as const) {
  test(`attack: a flood of ${name} whose responses are never read ends the connection (CVE-2019-9512, CVE-2019-9515)`, async (context) => {
    const { peer, events, response } = await openSessionWithRequest(context);
    peer.socket.pause();
    const much = Buffer.concat(Array.from({ length: 20_000 }, () => flood));
    for (let count = 0; count < 100; count++) peer.write(much);
    const failure = await response.failure();
    assert.equal(failure.errorCode, enhanceYourCalm);
    await eventually(() => events.at(-1) === 'closed');
  });
}

test('a flood whose responses are read ends nothing', async (context) => {
  const { peer, response } = await openSessionWithRequest(context);
  for (let round = 0; round < 5; round++) {
    peer.write(...Array.from({ length: 5_000 }, () => settingsFrame()));
    await peer.settled();
  }
  peer.write(okFrames(1, 'whole'));
  assert.equal(await response.whole(), 'whole');
});

test('what is written after the end is dropped: it is no error of the connection', async (context) => {
  const { port, peers } = await startRawHttp2Server(context);
  const { session, events } = await openSession(context, port);
  session.close();
  session.ping();
  await eventually(() => events.length > 0);
  assert.deepEqual(events, ['closed']);
  await eventually(() => peers[0]?.socket.closed === true);
  assert.deepEqual(peers[0]?.of(frameType.ping), []);
});

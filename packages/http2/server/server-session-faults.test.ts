import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../test/eventually.ts';
import { fieldBlock } from '../test/hpack.ts';
import { frame, frameFlag, frameType, uint32 } from '../test/raw-http2.ts';
import { connectWithFrames, preface, requestLines, startWithFrames } from '../test/raw-http2-client.ts';
import { settingsFrame } from '../test/raw-http2-peer.ts';

const { none, endStream, endHeaders, padded } = frameFlag;
const protocolError = 0x1;
const flowControlError = 0x3;
const streamClosed = 0x5;
const frameSizeError = 0x6;
const compressionError = 0x9;
const enhanceYourCalm = 0xb;

const fine = (): Response => new Response('fine');
/** Never responds. */
const never = (): Promise<Response> => new Promise(() => {});

describe('attack: what ends a connection', () => {
  const openFirst = frame(frameType.headers, endHeaders, 1, fieldBlock(requestLines('/', 'POST')));
  const request = (stream: number): Buffer =>
    frame(frameType.headers, endStream | endHeaders, stream, fieldBlock(requestLines()));
  const vectors: Readonly<Record<string, readonly [number, ...Buffer[]]>> = {
    'DATA on a stream that was never opened': [protocolError, frame(frameType.data, none, 1)],
    'RST_STREAM on one': [protocolError, frame(frameType.rstStream, none, 1, uint32(8))],
    'WINDOW_UPDATE on one': [protocolError, frame(frameType.windowUpdate, none, 1, uint32(1))],
    'an even identifier': [protocolError, request(2)],
    'HEADERS without a stream': [protocolError, request(0)],
    'DATA without a stream': [protocolError, frame(frameType.data, none, 0)],
    'PRIORITY without a stream': [protocolError, frame(frameType.priority, none, 0, Buffer.alloc(5))],
    'PRIORITY of four bytes': [frameSizeError, frame(frameType.priority, none, 1, Buffer.alloc(4))],
    'a stream behind a later one': [protocolError, request(5), request(3)],
    'a stream twice': [protocolError, request(1), frame(frameType.rstStream, none, 1, uint32(8)), request(1)],
    PUSH_PROMISE: [protocolError, request(1), frame(frameType.pushPromise, endHeaders, 1, uint32(2))],
    'a frame within a block of lines': [
      protocolError,
      frame(frameType.headers, endStream, 1, fieldBlock(requestLines())),
      frame(frameType.ping, none, 0, Buffer.alloc(8)),
    ],
    'CONTINUATION of nothing': [protocolError, frame(frameType.continuation, endHeaders, 1)],
    'padding beyond the end of a head': [
      protocolError,
      frame(frameType.headers, endHeaders | padded, 1, Buffer.from([9, 0])),
    ],
    'padding beyond the end of data': [
      protocolError,
      openFirst,
      frame(frameType.data, padded, 1, Buffer.from([9, 0])),
    ],
    'lines that cannot be read': [
      compressionError,
      frame(frameType.headers, endStream | endHeaders, 1, Buffer.from([0xff, 0xff, 0xff, 0xff, 0xff, 0x0f])),
    ],
    'a frame that is too long': [frameSizeError, Buffer.from([0x00, 0x40, 0x01, 0, 0, 0, 0, 0, 1])],
    'a PING of seven bytes': [frameSizeError, frame(frameType.ping, none, 0, Buffer.alloc(7))],
    'a PING on a stream': [protocolError, frame(frameType.ping, none, 1, Buffer.alloc(8))],
    'SETTINGS on a stream': [protocolError, frame(frameType.settings, none, 1)],
    'a part of a setting': [frameSizeError, frame(frameType.settings, none, 0, Buffer.alloc(5))],
    'SETTINGS that push': [protocolError, settingsFrame(2, 2)],
    'a window that is too large': [flowControlError, settingsFrame(4, 2 ** 31)],
    'a frame size that is too small': [protocolError, settingsFrame(5, 16_383)],
    'a WINDOW_UPDATE that updates nothing': [
      protocolError,
      frame(frameType.windowUpdate, none, 0, uint32(0)),
    ],
    'a connection window that becomes too large': [
      flowControlError,
      frame(frameType.windowUpdate, none, 0, uint32(2 ** 31 - 1)),
    ],
    'stream windows that settings make too large': [
      flowControlError,
      openFirst,
      frame(frameType.windowUpdate, none, 1, uint32(2 ** 31 - 1 - 65_535)),
      settingsFrame(4, 65_536),
    ],
  };
  for (const [name, [code, ...frames]] of Object.entries(vectors)) {
    test(name, async (context) => {
      const aborted: boolean[] = [];
      const { client, port } = await startWithFrames(context, ({ signal }) => {
        signal.addEventListener('abort', () => aborted.push(true));
        return never();
      });
      client.write(...frames);
      assert.equal(await client.goAwayCode(), code);
      await eventually(() => client.ended);
      // Others are served on.
      const other = await connectWithFrames(context, port);
      await other.settled();
    });
  }

  for (const [name, first] of Object.entries({
    'a connection that begins as HTTP/1.1': Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'),
    'a first frame that is not SETTINGS': Buffer.concat([
      preface,
      frame(frameType.ping, none, 0, Buffer.alloc(8)),
    ]),
    'a first frame that acknowledges': Buffer.concat([preface, frame(frameType.settings, frameFlag.ack, 0)]),
  })) {
    test(name, async (context) => {
      const { client } = await startWithFrames(context, fine, { first: [first] });
      assert.equal(await client.goAwayCode(), protocolError);
      await eventually(() => client.ended);
    });
  }
});

describe('attack: what ends a stream, and nothing else', () => {
  type FrameOf = (stream: number) => Buffer;
  const whole =
    (lines: readonly string[]): FrameOf =>
    (stream) =>
      frame(frameType.headers, endStream | endHeaders, stream, fieldBlock(lines));
  /** The head of a request whose content is to come. */
  const post =
    (...lines: string[]): FrameOf =>
    (stream) =>
      frame(frameType.headers, endHeaders, stream, fieldBlock(requestLines('/', 'POST', ...lines)));
  const vectors: Readonly<Record<string, readonly [number, ...FrameOf[]]>> = {
    'data behind the end': [
      streamClosed,
      whole(requestLines()),
      (stream) => frame(frameType.data, none, stream, Buffer.from('more')),
    ],
    'a head behind the end': [streamClosed, whole(requestLines()), whole(['a', 'b'])],
    'trailers that are not the end': [
      protocolError,
      post(),
      (stream) => frame(frameType.headers, endHeaders, stream, fieldBlock(['a', 'b'])),
    ],
    'trailers with a path': [protocolError, post(), whole([':path', '/'])],
    'a malformed head': [protocolError, whole(['a', 'b'])],
    'a WINDOW_UPDATE that updates nothing': [
      protocolError,
      post(),
      (stream) => frame(frameType.windowUpdate, none, stream, uint32(0)),
    ],
    'a window that becomes too large': [
      flowControlError,
      post(),
      (stream) => frame(frameType.windowUpdate, none, stream, uint32(2 ** 31 - 1)),
    ],
    'content that is longer than it says': [
      protocolError,
      post('content-length', '3'),
      (stream) => frame(frameType.data, none, stream, Buffer.from('four')),
    ],
    'content that is shorter than it says': [
      protocolError,
      post('content-length', '5'),
      (stream) => frame(frameType.data, endStream, stream, Buffer.from('four')),
    ],
    'a length without content': [protocolError, whole(requestLines('/', 'POST', 'content-length', '5'))],
  };
  for (const [name, [code, ...frames]] of Object.entries(vectors)) {
    test(`${name}: ends the stream, and its work is cancelled`, async (context) => {
      let underWay = 0;
      const { client } = await startWithFrames(context, ({ url, signal }) => {
        if (new URL(url).pathname === '/fine') return fine();
        underWay++;
        signal.addEventListener('abort', () => underWay--);
        return never();
      });
      client.write(...frames.map((of) => of(1)));
      assert.equal(await client.resetCode(1), code);
      await eventually(() => underWay === 0);
      client.request(3, requestLines('/fine'));
      assert.equal((await client.outcome(3)).body, 'fine');
    });

    test(`${name}: repeated, ends the connection (CVE-2025-8671)`, async (context) => {
      const { client } = await startWithFrames(context, never);
      for (let stream = 1; stream < 4_000 && !client.isOver; stream += 2) {
        client.write(...frames.map((of) => of(stream)));
        if (stream % 20 === 1) await new Promise(setImmediate);
      }
      assert.equal(await client.goAwayCode(), enhanceYourCalm);
    });
  }

  for (const [name, flood] of Object.entries({
    PING: frame(frameType.ping, none, 0, Buffer.alloc(8)),
    SETTINGS: settingsFrame(),
    PRIORITY: frame(frameType.priority, none, 1, Buffer.alloc(5)),
    'empty DATA (CVE-2019-9518)': frame(frameType.data, none, 1),
    'frames that nobody knows': frame(0x77, none, 0),
  })) {
    test(`a flood of ${name}, whose responses are read, ends the connection`, async (context) => {
      const { client } = await startWithFrames(context, never);
      client.request(1, requestLines('/', 'POST'), { endStream: false });
      const batch = Buffer.concat(Array.from({ length: 1_000 }, () => flood));
      for (let count = 0; count < 100 && !client.isOver; count++) {
        client.write(batch);
        await new Promise(setImmediate);
      }
      assert.equal(await client.goAwayCode(), enhanceYourCalm);
    });
  }
});

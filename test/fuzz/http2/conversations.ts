import fc from 'fast-check';
import { fieldBlock, indexed, indexedLiteral } from '../../support/security/hpack.ts';
import { frame, frameFlag, frameType } from '../../support/security/raw-http2.ts';
import { preface, settings, uint32, windowUpdate } from './client-frames.ts';

const { none, endStream, endHeaders, padded, priority, ack } = frameFlag;

const block = (method: string, ...lines: string[]): Buffer =>
  fieldBlock([':method', method, ':scheme', 'https', ':path', '/api/v1', ':authority', 'router', ...lines]);
const data = (flags: number, stream: number, content: string): Buffer =>
  frame(frameType.data, flags, stream, Buffer.from(content, 'latin1'));

/** Requests that nobody must be given. */
const malformed: readonly (readonly string[])[] = [
  [':method', 'GET', ':scheme', 'https', ':authority', 'router', ':path', 'api'],
  [':method', 'GE T', ':scheme', 'https', ':authority', 'router', ':path', '/'],
  ...[
    ['a', 'b\r\nc'],
    ['a b', 'c'],
    ['A', 'b'],
    [':path', '/'],
    ['connection', 'close'],
    ['te', 'gzip'],
  ].map((line) => [':method', 'GET', ':scheme', 'https', ':authority', 'router', ':path', '/', ...line]),
];

/** What a client may do with a stream; each part stays whole when several are mixed. */
const requests: readonly ((stream: number) => Buffer[])[] = [
  (stream) => [frame(frameType.headers, endHeaders | endStream, stream, block('GET', 'accept', '*/*'))],
  (stream) => [
    frame(frameType.headers, endHeaders, stream, block('POST', 'content-length', '10')),
    data(none, stream, 'whole'),
    data(endStream, stream, 'again'),
  ],
  (stream) => [
    frame(frameType.headers, endHeaders, stream, block('PUT', 'content-length', '900')),
    data(endStream, stream, 'short'),
  ],
  (stream) => [
    Buffer.concat([
      frame(
        frameType.headers,
        padded | priority,
        stream,
        Buffer.concat([Buffer.from([3, 0, 0, 0, 0, 16]), block('PATCH'), Buffer.alloc(3)]),
      ),
      frame(frameType.continuation, none, stream),
      frame(frameType.continuation, endHeaders, stream, fieldBlock(['cookie', 'a=b', 'cookie', 'c=d'])),
    ]),
    data(padded, stream, '\x03data\0\0\0'),
    data(padded | endStream, stream, '\0'),
  ],
  (stream) => [
    frame(
      frameType.headers,
      endHeaders,
      stream,
      Buffer.concat([Buffer.from([0x20, 0x3f, 0xe1, 0x1f]), block('POST'), indexedLiteral('te', 'trailers')]),
    ),
    data(none, stream, 'a part'),
    frame(frameType.headers, endHeaders | endStream, stream, indexed(62)),
  ],
  // As much as makes the router grant more.
  (stream) => [
    frame(frameType.headers, endHeaders, stream, block('POST', 'expect', '100-continue')),
    ...Array.from({ length: 10 }, (_, index) => data(none, stream, String(index).repeat(16_000))),
    data(endStream, stream, 'end'),
  ],
  (stream) => [frame(frameType.headers, endHeaders, stream, block('POST')), data(none, stream, 'no end')],
  (stream) => [
    frame(
      frameType.headers,
      endHeaders | endStream,
      stream,
      fieldBlock([':method', 'CONNECT', ':authority', 'a']),
    ),
  ],
  (stream) => {
    const lines = malformed[Math.floor(stream / 2) % malformed.length] ?? [];
    return [frame(frameType.headers, endHeaders | endStream, stream, fieldBlock(lines))];
  },
  (stream) => [
    frame(frameType.headers, endHeaders | endStream, stream, block('GET')),
    data(none, stream, 'x'),
  ],
  (stream) => [
    frame(frameType.headers, endHeaders, stream, block('POST')),
    frame(frameType.rstStream, none, stream, uint32(8)),
  ],
  (stream) => [
    frame(frameType.headers, endHeaders | endStream, stream, block('GET')),
    ...[1, 16_384, 100_000, 200_000].map((increment) => windowUpdate(stream, increment)),
  ],
];

/** What it may do beside its requests, the first of which is on stream 1. */
const besides: readonly (() => Buffer[])[] = [
  () => [windowUpdate(0, 1_000_000)],
  () => [settings(4, 0), settings(4, 100_000)],
  () => [settings(4, 10)],
  () => [settings(4, 300_000), windowUpdate(1, 7)],
  () => [frame(frameType.ping, none, 0, Buffer.alloc(8, 7)), frame(frameType.settings, ack, 0)],
  () => [frame(frameType.priority, none, 1, Buffer.alloc(5)), frame(0xfa, 0xff, 9, Buffer.from('new'))],
  () => [frame(frameType.rstStream, none, 1, uint32(8))],
  () => [frame(frameType.goAway, none, 0, Buffer.alloc(8))],
];

/** One behind the other, or a part of each in turn. */
function conversation(kinds: readonly ((stream: number) => Buffer[])[], isMixed: boolean): string {
  const parts = kinds.map((exchange, index) => exchange(2 * index + 1));
  if (!isMixed) return Buffer.concat(parts.flat()).toString('latin1');
  const mixed: Buffer[] = [];
  for (let index = 0; parts.some(({ length }) => index < length); index++) {
    mixed.push(...parts.flatMap((frames) => frames.slice(index, index + 1)));
  }
  return Buffer.concat(mixed).toString('latin1');
}

export const opening = preface + frame(frameType.settings, none, 0).toString('latin1');
export const conversations = fc
  .tuple(
    fc.constantFrom(...requests),
    fc.array(fc.oneof({ weight: 3, arbitrary: fc.constantFrom(...requests) }, fc.constantFrom(...besides)), {
      maxLength: 8,
    }),
    fc.boolean(),
  )
  .map(([first, others, isMixed]) => conversation([first, ...others], isMixed));

/** Frames' own bytes, and what HPACK takes for lengths, indices and sizes of its table. */
export const pieces = [
  ...[
    preface,
    '\x00\x00\x00',
    '\x00\x00\x00\x00\x01\x00\x00\x00\x01',
    '\x00\x00\x00\x01\x05\x00\x00\x00\x01',
  ],
  ...[settings(4, 1), settings(4, 2 ** 31), settings(5, 1), settings(1, 0)].map((bytes) =>
    bytes.toString('latin1'),
  ),
  ...[windowUpdate(0, 2 ** 31 - 1), windowUpdate(1, 0), windowUpdate(3, 9)].map((bytes) =>
    bytes.toString('latin1'),
  ),
  ...['\xff\xff\xff\xff', '\x7f\xff\xff\xff', '\x3f\xe1\x1f', '\x20', '\x82', '\xbe', '\x40\x01a\x01b'],
  ...['\r\n', ':', ' ', 'A', '\x00\x05:path\x01/', '\x00\x0acontent-length\x015', '\x00\x02te\x01x'],
];

import fc from 'fast-check';
import { fieldBlock, HpackWriter, indexed, type WrittenLine } from '../hpack.ts';
import { frame, frameFlag, frameType } from '../raw-http2.ts';
import { preface, settings, uint32, windowUpdate } from './frames.ts';
import { headerLine } from './header-lines.ts';

export interface Requests {
  /** Bytes that a client writes, as a byte string. */
  readonly bytes: string;
  /** The heads that are in it, each name, value, name, value, …; `null` where it was changed at random. */
  readonly heads: readonly (readonly string[])[] | null;
  /** Content of another length than it was said to have, or a frame that is wrong: Node gives up without a GOAWAY. */
  readonly isBeyondNode?: boolean;
  /** Streams whose requests must not seem whole. */
  readonly neverWhole?: readonly number[];
  /** The code of the GOAWAY that the server must end with. */
  readonly code: number | null;
  /** Bytes of the pieces in which it is read. */
  readonly cuts: readonly number[];
  readonly maximumHeaderLines: number;
  readonly isRead: boolean;
  /** So many requests have an answer, at once. */
  readonly answered: number;
}

interface Request {
  /** Dynamic table size updates in front of its head; below 0: so many bytes short of what is in the table. */
  readonly sizes: readonly number[];
  readonly lines: readonly WrittenLine[];
  /** Where HEADERS and each CONTINUATION end in the block. */
  readonly cuts: readonly number[];
  /** `null`: none, and no byte that says so. */
  readonly padding: number | null;
  readonly hasPriority: boolean;
  /** Bytes of its DATA frames. */
  readonly content: readonly number[];
  /** By how many bytes its Content-Length is wrong; `null`: it has none. */
  readonly lengthOff: number | null;
  readonly ends: 'whole' | 'with trailers' | 'with wrong trailers' | 'reset' | 'never';
  /** Bytes that stand behind it and belong to no request. */
  readonly beside: keyof typeof besides;
}

const { none, endStream, endHeaders, padded, priority } = frameFlag;
const besides = {
  nothing: [],
  'a PING': [frame(frameType.ping, none, 0, Buffer.alloc(8, 7))],
  'windows that change': [settings(4, 0), settings(4, 300_000), windowUpdate(0, 1_000_000)],
  'what has no effect': [
    frame(frameType.priority, none, 1, Buffer.alloc(5)),
    frame(0xfa, 0xff, 9, Buffer.from('new')),
  ],
} as const;

/** Bytes that end a connection, or make its last request one that must not be taken. */
interface Fault {
  /** The code of the GOAWAY; `null`: the request alone is refused. */
  readonly code: number | null;
  /** In front of the block of the last request. */
  readonly front?: Buffer;
  /** Behind its pseudo-header fields. */
  readonly line?: readonly [name: string, value: string];
  /** Behind its lines. */
  readonly last?: (writer: HpackWriter) => Buffer;
  /** Behind all requests. */
  readonly frames?: Buffer;
  /** True if the fault's frames are of a stream that they find open. */
  readonly isOnOpenStream?: boolean;
}

const string = (...bytes: number[]): Buffer => Buffer.from([0x00, 0x01, 0x78, ...bytes]);
/** Faults that make a head malformed, or its block one that cannot be decoded (RFC 9113 section 4.3). */
const faults = {
  'index 0': [9, () => indexed(0)],
  'an index behind the table': [9, (writer: HpackWriter) => indexed(writer.end)],
  'a size update behind a line': [9, () => Buffer.from([0x20])],
  'an integer of 37 bits': [9, () => Buffer.from([0xff, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01])],
  'an integer without its end': [9, () => Buffer.from([0xff, 0x80])],
  'a string beyond its block': [9, () => string(0x05, 0x61)],
  'a zero in the padding of a Huffman code': [9, () => string(0x81, 0x06)],
  'eight bits of padding of a Huffman code': [9, () => string(0x82, 0x07, 0xff)],
  'EOS in a Huffman code': [9, () => string(0x84, 0xff, 0xff, 0xff, 0xff)],
  'a line break': [null, () => fieldBlock(['x-a', 'b\r\nc'])],
  'a space in a name': [null, () => fieldBlock(['x a', 'b'])],
  'a name in upper case': [null, () => fieldBlock(['X-A', 'b'])],
  'a blank in front of a value': [null, () => fieldBlock(['x-a', ' b'])],
  'a blank at the end of a value': [null, () => fieldBlock(['x-a', 'b\t'])],
  'a NUL in a value': [null, () => fieldBlock(['x-a', 'b\0'])],
  'a pseudo-header field behind a line': [null, () => fieldBlock(['x-a', 'b', ':path', '/'])],
  'what belongs to one connection': [null, () => fieldBlock(['connection', 'x-a'])],
  'two lengths': [null, () => fieldBlock(['content-length', '5', 'content-length', '5'])],
  'another TE': [null, () => fieldBlock(['te', 'gzip'])],
} as const;

/** Size updates may stand in front of a block, but not this one. */
const tooLarge: Fault = { code: 9, front: Buffer.from([0x3f, 0xe2, 0x1f]) };

/** Behind the four pseudo-header fields that a request has, where one too many is all that is wrong. */
const pseudoFaults = {
  'a second path': [':path', '/'],
  'a second method': [':method', 'GET'],
  'a second scheme': [':scheme', 'https'],
  'a second authority': [':authority', 'router'],
  'a status': [':status', '200'],
  'an unknown pseudo-header field': [':x-a', 'b'],
} as const;

/** A request whose content is still to come. */
const openedHead = [':method', 'POST', ':scheme', 'https', ':authority', 'router', ':path', '/open'];
const opened = 97;
/** Frames that end a connection wherever they come, and the code of the GOAWAY (RFC 9113 sections 5.1 and 6). */
const frameFaults = {
  'DATA of nothing but a wrong padding': [
    1,
    frame(frameType.data, padded, opened, Buffer.from([4, 1, 2, 3])),
  ],
  'DATA with a padding beyond it': [1, frame(frameType.data, padded, opened, Buffer.from([200, 1, 2, 3]))],
  'DATA of the connection': [1, frame(frameType.data, none, 0, Buffer.from('a'))],
  'DATA of an idle stream': [1, frame(frameType.data, none, 99, Buffer.from('a'))],
  'HEADERS with a padding beyond it': [
    1,
    frame(frameType.headers, padded | endHeaders, 99, Buffer.from([2, 0])),
  ],
  'HEADERS of the connection': [1, frame(frameType.headers, endHeaders, 0, fieldBlock([':method', 'GET']))],
  'HEADERS of an even stream': [1, frame(frameType.headers, endHeaders, 98, fieldBlock([':method', 'GET']))],
  'RST_STREAM that is too short': [6, frame(frameType.rstStream, none, 1, Buffer.alloc(3))],
  'RST_STREAM of the connection': [1, frame(frameType.rstStream, none, 0, Buffer.alloc(4))],
  'RST_STREAM of an idle stream': [1, frame(frameType.rstStream, none, 99, Buffer.alloc(4))],
  'SETTINGS that are too short': [6, frame(frameType.settings, none, 0, Buffer.alloc(5))],
  'SETTINGS of a stream': [1, frame(frameType.settings, none, 1, Buffer.alloc(6))],
  'an acknowledgement with content': [6, frame(frameType.settings, frameFlag.ack, 0, Buffer.alloc(6))],
  'a wrong setting': [1, settings(2, 2)],
  'a window that is too large': [3, settings(4, 2 ** 31)],
  'a frame size that is too small': [1, settings(5, 1)],
  'PUSH_PROMISE of a client': [1, frame(frameType.pushPromise, endHeaders, 1, Buffer.from([0, 0, 0, 2]))],
  'PING that is too short': [6, frame(frameType.ping, none, 0, Buffer.alloc(7))],
  'PING of a stream': [1, frame(frameType.ping, none, 1, Buffer.alloc(8))],
  'GOAWAY of a stream': [1, frame(frameType.goAway, none, 1, Buffer.alloc(8))],
  'WINDOW_UPDATE of nothing': [1, windowUpdate(0, 0)],
  'WINDOW_UPDATE that is too short': [6, frame(frameType.windowUpdate, none, 0, Buffer.alloc(3))],
  'WINDOW_UPDATE of an idle stream': [1, windowUpdate(99, 1)],
  'WINDOW_UPDATE beyond the maximum': [3, windowUpdate(0, 2 ** 31 - 1)],
  'CONTINUATION of nothing': [1, frame(frameType.continuation, endHeaders, 1, fieldBlock(['a', 'b']))],
  'a frame that is too long': [6, frame(0xfa, none, 0, Buffer.alloc(16_385))],
  'CONTINUATION of another stream': [
    1,
    Buffer.concat([
      frame(frameType.headers, none, 99, fieldBlock([':method', 'GET'])),
      frame(frameType.continuation, endHeaders, 101, fieldBlock([':scheme', 'https'])),
    ]),
  ],
  'a block that another frame interrupts': [
    1,
    Buffer.concat([
      frame(frameType.headers, none, 99, Buffer.alloc(0)),
      frame(frameType.ping, none, 0, Buffer.alloc(8)),
    ]),
  ],
} as const;

const writtenLine: fc.Arbitrary<WrittenLine> = fc
  .tuple(headerLine, fc.nat({ max: 4 }), fc.nat({ max: 3 }))
  .map(([[name, value], form, bits]) => ({
    ...{ name, value, isNamedByIndex: bits > 1, isHuffman: bits % 2 === 1 },
    form: (['indexed', 'with indexing', 'without indexing', 'never indexed'] as const)[form] ?? 'indexed',
  }));
/** In the table by one byte, or not. */
const asItIs = -1;
const size = fc.oneof(
  fc.constantFrom(0, 4_096),
  { weight: 3, arbitrary: fc.constantFrom(asItIs, asItIs - 1) },
  fc.nat({ max: 300 }),
  fc.nat({ max: 4_096 }),
);
const request: fc.Arbitrary<Request> = fc.record({
  sizes: fc.oneof({ weight: 3, arbitrary: fc.constant([]) }, fc.array(size, { minLength: 1, maxLength: 3 })),
  lines: fc.oneof(fc.array(writtenLine, { maxLength: 3 }), fc.array(writtenLine, { maxLength: 12 })),
  cuts: fc.array(fc.oneof(fc.nat({ max: 8 }), fc.nat({ max: 16_000 })), { maxLength: 3 }),
  padding: fc.constantFrom(null, null, 0, 1, 255),
  hasPriority: fc.boolean(),
  content: fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 4, arbitrary: fc.array(fc.integer({ min: 0, max: 600 }), { maxLength: 3 }) },
    fc.constant([16_000, 16_000, 16_000, 16_000, 16_000]),
  ),
  lengthOff: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    { weight: 4, arbitrary: fc.constant(0) },
    { weight: 1, arbitrary: fc.constantFrom(-1, 1, 10, 5_000) },
  ),
  ends: fc.constantFrom('whole', 'whole', 'with trailers', 'with wrong trailers', 'reset', 'never'),
  beside: fc.constantFrom('nothing', 'nothing', ...(Object.keys(besides) as (keyof typeof besides)[])),
});

const withPadding = (padding: number | null, ...parts: readonly Buffer[]): Buffer =>
  Buffer.concat(padding === null ? parts : [Buffer.from([padding]), ...parts, Buffer.alloc(padding)]);

const lengthOf = ({ content }: Request): number => content.reduce((sum, each) => sum + each, 0);

/** The value of Content-Length, if there is one. Of a head that may be too large besides it is right. */
function saidLength(request: Request): number | undefined {
  const { lengthOff, lines } = request;
  if (lengthOff === null) return undefined;
  return Math.max(0, lengthOf(request) + (lines.length > 3 ? 0 : lengthOff));
}

function headFrames(stream: number, block: Buffer, flags: number, request: Request): Buffer[] {
  const { padding, hasPriority } = request;
  const ends = request.cuts.toSorted((one, other) => one - other);
  for (let end = ends.at(-1) ?? 0; end < block.length; end += 16_000) ends.push(end + 16_000);
  return ends.map((end, index) => {
    const part = block.subarray(ends[index - 1] ?? 0, end);
    const last = index === ends.length - 1 ? endHeaders : none;
    if (index > 0) return frame(frameType.continuation, last, stream, part);
    const more = (padding === null ? none : padded) | (hasPriority ? priority : none);
    const payload = withPadding(padding, Buffer.from(hasPriority ? [0, 0, 0, 0, 15] : []), part);
    return frame(frameType.headers, flags | last | more, stream, payload);
  });
}

function contentFrames(stream: number, { content, padding, ends }: Request): Buffer[] {
  const frames = content.map((length, index) => {
    const last = ends === 'whole' && index === content.length - 1 ? endStream : none;
    const payload = withPadding(padding, Buffer.alloc(length, `${stream} ${index} `));
    return frame(frameType.data, last | (padding === null ? none : padded), stream, payload);
  });
  if (ends === 'reset') frames.push(frame(frameType.rstStream, none, stream, Buffer.from(uint32(8))));
  const trailers = (...lines: string[]): Buffer =>
    frame(frameType.headers, endHeaders | endStream, stream, fieldBlock(lines));
  if (ends === 'with trailers') frames.push(trailers('x-trailer', 'a'));
  // A pseudo-header field stands in front of the first message alone (RFC 9113 section 8.3).
  if (ends === 'with wrong trailers') frames.push(trailers('x-trailer', 'a', ':path', '/'));
  return frames;
}

const blockFault = (name: keyof typeof faults): Fault => ({ code: faults[name][0], last: faults[name][1] });

function frameFault(name: keyof typeof frameFaults): Fault {
  const [code, bytes] = frameFaults[name];
  return { code, frames: bytes, isOnOpenStream: bytes.readUInt32BE(5) === opened };
}

const oneOf = <Name extends string>(table: Readonly<Record<Name, unknown>>) =>
  fc.constantFrom(...(Object.keys(table) as Name[]));

const plainLine = { form: 'indexed', isNamedByIndex: true, isHuffman: false } as const;

/** Requests as any client may write them, and perhaps one fault. */
export const wholeRequests = fc
  .tuple(
    fc.array(request, { minLength: 1, maxLength: 8 }),
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(null) },
      // Only that shows an entry that the table has too long.
      { weight: 3, arbitrary: fc.constant(blockFault('an index behind the table')) },
      { weight: 2, arbitrary: oneOf(faults).map(blockFault) },
      {
        weight: 1,
        arbitrary: oneOf(pseudoFaults).map((name): Fault => ({ code: null, line: pseudoFaults[name] })),
      },
      { weight: 3, arbitrary: oneOf(frameFaults).map(frameFault) },
      { weight: 1, arbitrary: fc.constant(tooLarge) },
    ),
  )
  .map(([requests, fault]) => {
    const writer = new HpackWriter();
    const frames: Buffer[] = [Buffer.from(preface), frame(frameType.settings, none, 0)];
    const heads: string[][] = [];
    const neverWhole: number[] = [];
    let isBeyondNode = false;
    for (const [index, each] of requests.entries()) {
      const stream = 2 * index + 1;
      const pseudo = { method: 'POST', scheme: 'https', authority: 'router', path: `/${index}` };
      const lines: WrittenLine[] = Object.entries(pseudo).map(([name, value]) => ({
        ...{ ...plainLine, name: `:${name}`, value },
      }));
      const { front, line, last } = (index === requests.length - 1 ? fault : null) ?? {};
      if (line !== undefined) lines.push({ ...plainLine, name: line[0], value: line[1] });
      lines.push(...each.lines);
      const said = saidLength(each);
      if (said !== undefined) lines.push({ ...plainLine, name: 'content-length', value: String(said) });
      const block = each.sizes.map((bytes) =>
        writer.resize(bytes > asItIs ? bytes : Math.max(0, Math.min(4_096, writer.used + bytes - asItIs))),
      );
      if (front !== undefined) block.push(front);
      block.push(...lines.map((each) => writer.line(each)));
      if (last !== undefined) block.push(last(writer));
      const isFaulty = (front ?? line ?? last) !== undefined;
      const isWrongLength = said !== undefined && said !== lengthOf(each);
      isBeyondNode ||= isWrongLength;
      if (isWrongLength || (each.ends !== 'whole' && each.ends !== 'with trailers')) neverWhole.push(stream);
      const hasNoContent = each.ends === 'whole' && each.content.length === 0;
      // A request that announces content and has none is malformed (RFC 9113 section 8.1.1), which shows with its head.
      if (!isFaulty && (!hasNoContent || (said ?? 0) === 0))
        heads.push(lines.flatMap(({ name, value }) => [name, value]));
      frames.push(
        ...headFrames(stream, Buffer.concat(block), hasNoContent ? endStream : none, each),
        ...(isFaulty ? [] : contentFrames(stream, each)),
        ...besides[each.beside],
      );
    }
    if (fault?.frames !== undefined) {
      if (fault.isOnOpenStream === true) {
        frames.push(frame(frameType.headers, endHeaders, opened, fieldBlock(openedHead)));
        heads.push(openedHead);
      }
      frames.push(fault.frames);
      isBeyondNode = true;
    }
    const code = fault?.code ?? null;
    return { bytes: Buffer.concat(frames).toString('latin1'), heads, isBeyondNode, neverWhole, code };
  });

import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { setImmediate as turn } from 'node:timers/promises';
import type { TLSSocket } from 'node:tls';
import fc from 'fast-check';
import type { RequestHead } from '../../../src/node/http2-server/request-head.ts';
import { ServerSession, type ServerSessionHost } from '../../../src/node/http2-server/server-session.ts';
import type { AnswerWriter, ServerStream } from '../../../src/node/http2-server/server-stream.ts';
import { fieldBlock, indexed, indexedLiteral, statusOf } from '../../support/security/hpack.ts';
import { type Frame, frame, frameFlag, frameType } from '../../support/security/raw-http2.ts';
import { fuzz } from '../fuzz-target.ts';
import { mutated } from '../mutation.ts';

/** How the host deals with a request. */
interface Handling {
  readonly answer: 'at once' | 'in pieces' | 'broken off' | 'never';
  readonly reads: boolean;
}

interface Requests {
  /** What a client writes, as a byte string. */
  readonly bytes: string;
  /** Where it is cut into pieces. */
  readonly cuts: readonly number[];
  /** Of the first request, the second, …, and round again. */
  readonly handling: readonly Handling[];
  /** Whether the client takes one write at a time, between two pieces of its own. */
  readonly isSlow: boolean;
  /** Behind which of the client's pieces the router takes no more requests; `null` for none. */
  readonly closedBehind: number | null;
}

const { none, endStream, endHeaders, padded, priority, ack } = frameFlag;
const limits = { maxConcurrentStreams: 3, maxSessionRejectedStreams: 4 };
const preface = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n';
const initialWindow = 65_535;
/** Larger than the windows that a client begins with; each byte tells its place. */
const wholeAnswer = Buffer.from(Array.from({ length: 280_000 }, (_, index) => index % 251));
const pieceLength = 40_000;
const shortLength = 100;
/** More than one frame. */
const longValue = 'x'.repeat(20_000);

const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
};
const settings = (identifier: number, value: number): Buffer =>
  frame(frameType.settings, none, 0, Buffer.concat([Buffer.from([0, identifier]), uint32(value)]));
const windowUpdate = (stream: number, increment: number): Buffer =>
  frame(frameType.windowUpdate, none, stream, uint32(increment));
const block = (method: string, ...lines: string[]): Buffer =>
  fieldBlock([':method', method, ':scheme', 'https', ':path', '/api/v1', ':authority', 'router', ...lines]);
const data = (flags: number, stream: number, content: string): Buffer =>
  frame(frameType.data, flags, stream, Buffer.from(content, 'latin1'));

/** What a client may do with the next stream, or beside it; each part stays whole when several are mixed. */
const exchanges: readonly ((stream: number) => Buffer[])[] = [
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
  (stream) => [frame(frameType.headers, endHeaders | endStream, stream, block('GET', 'connection', 'close'))],
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

const opening = preface + frame(frameType.settings, none, 0).toString('latin1');
const conversations = fc
  .tuple(fc.array(fc.constantFrom(...exchanges), { minLength: 1, maxLength: 8 }), fc.boolean())
  .map(([kinds, isMixed]) => conversation(kinds, isMixed));

/** Frames' own bytes, and what HPACK takes for lengths, indices and sizes of its table. */
const pieces = [
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

/** What a client has written so far, by its frames; grants of a frame that is not whole do not count. */
class Client {
  /** WINDOW_UPDATE of the connection (0) and of streams. */
  readonly widened = new Map<number, number>();
  /** The window of a stream behind none of its SETTINGS, behind the first of them, … */
  readonly initialWindows = [initialWindow];
  readonly opened = new Set<number>();
  /** Without padding. */
  readonly content = new Map<number, Buffer[]>();
  /** Bytes of DATA, padding and all. */
  readonly uploaded = new Map<number, number>();
  pings = 0;
  leaves = false;
  /** Whether another frame may follow. */
  isAtFrame = true;

  constructor(bytes: Buffer) {
    for (let offset = preface.length; offset < bytes.length; ) {
      const end = offset + 9 + (offset + 9 <= bytes.length ? bytes.readUIntBE(offset, 3) : 0);
      this.isAtFrame = end <= bytes.length;
      if (offset + 9 > bytes.length) break;
      const type = bytes.readUInt8(offset + 3);
      if (!this.isAtFrame && type !== frameType.data) break;
      const flags = bytes.readUInt8(offset + 4);
      const stream = bytes.readUInt32BE(offset + 5) & 0x7fff_ffff;
      this.#read({ type, flags, stream, payload: bytes.subarray(offset + 9, end) }, end - offset - 9);
      offset = end;
    }
  }

  #read({ type, flags, stream, payload }: Frame, length: number): void {
    if (type === frameType.headers) this.opened.add(stream);
    if (type === frameType.headers || type === frameType.continuation) {
      if ((flags & endHeaders) === 0) this.isAtFrame = false;
    }
    if (type === frameType.data) {
      const padding = (flags & padded) === 0 ? 0 : (payload[0] ?? 0);
      const content = payload.subarray((flags & padded) === 0 ? 0 : 1, Math.max(0, length - padding));
      this.content.set(stream, [...(this.content.get(stream) ?? []), content]);
      add(this.uploaded, stream, payload.length);
      add(this.uploaded, 0, payload.length);
    }
    if (type === frameType.windowUpdate && payload.length === 4) {
      add(this.widened, stream, payload.readUInt32BE() & 0x7fff_ffff);
    }
    if (type === frameType.ping && (flags & ack) === 0) this.pings++;
    if (type === frameType.goAway) this.leaves = true;
    if (type === frameType.settings && (flags & ack) === 0) {
      let window = this.initialWindows.at(-1) ?? 0;
      for (let offset = 0; offset + 6 <= payload.length; offset += 6) {
        if (payload.readUInt16BE(offset) === 4) window = payload.readUInt32BE(offset + 2);
      }
      this.initialWindows.push(window);
    }
  }
}

function add(to: Map<number, number>, key: number, number: number): void {
  to.set(key, (to.get(key) ?? 0) + number);
}

interface Answer {
  isBegun: boolean;
  isOver: boolean;
  isReset: boolean;
  length: number;
}

/** What the router has written, read frame by frame: throws at the first that may not come. */
class Answers {
  client = new Client(Buffer.alloc(0));
  /** Of GOAWAY (RFC 9113 section 7). */
  goAwayCode: number | undefined;
  readonly #streams = new Map<number, Answer>();
  readonly #granted = new Map<number, number>();
  #unread = Buffer.alloc(0);
  #frames = 0;
  #acknowledged = 0;
  #pings = 0;
  #length = 0;
  /** Of the block of header lines that is not whole yet. */
  #block: { readonly stream: number; readonly bytes: Buffer[] } | undefined;

  /** Bytes that may still come. @param stream 0 is the connection */
  windowOf(stream: number): number {
    const { widened, initialWindows } = this.client;
    const grants = widened.get(stream) ?? 0;
    if (stream === 0) return initialWindow + grants - this.#length;
    const initial = initialWindows[this.#acknowledged] ?? Number.NaN;
    return initial + grants - (this.#streams.get(stream)?.length ?? 0);
  }

  /** Nothing more comes. */
  end(): void {
    assert.equal(this.#unread.length, 0, 'a part of a frame');
    assert.equal(this.#block, undefined);
    // Only what was dealt with is granted again.
    for (const [stream, granted] of this.#granted) {
      const uploaded = this.client.uploaded.get(stream) ?? 0;
      const ahead = stream === 0 ? limits.maxConcurrentStreams * 262_144 - initialWindow : 0;
      assert.ok(granted <= ahead + uploaded, `${granted} granted on ${stream} for ${uploaded}`);
    }
  }

  read(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    let offset = 0;
    while (offset + 9 <= this.#unread.length) {
      const length = this.#unread.readUIntBE(offset, 3);
      assert.ok(length <= 16_384, `a frame of ${length} bytes`);
      const end = offset + 9 + length;
      if (end > this.#unread.length) break;
      const type = this.#unread.readUInt8(offset + 3);
      const flags = this.#unread.readUInt8(offset + 4);
      const stream = this.#unread.readUInt32BE(offset + 5);
      this.#frame({ type, flags, stream, payload: this.#unread.subarray(offset + 9, end) });
      offset = end;
    }
    this.#unread = this.#unread.subarray(offset);
  }

  #frame(received: Frame): void {
    const { type, flags, stream, payload } = received;
    if (this.#frames++ === 0) assert.equal(type, frameType.settings);
    assert.ok(this.goAwayCode === undefined || this.goAwayCode === 0, 'something follows a failure');
    if (this.#block !== undefined) assert.equal(type, frameType.continuation);
    switch (type) {
      case frameType.settings:
        assert.equal(stream, 0);
        if ((flags & ack) === 0) return assert.equal(this.#frames, 1);
        assert.ok(++this.#acknowledged < this.client.initialWindows.length);
        return assert.equal(payload.length, 0);
      case frameType.ping:
        assert.deepEqual([stream, flags, payload.length], [0, ack, 8]);
        return assert.ok(++this.#pings <= this.client.pings);
      case frameType.goAway:
        assert.equal(stream, 0);
        assert.equal(this.goAwayCode, undefined);
        this.goAwayCode = payload.readUInt32BE(4);
        return;
      case frameType.windowUpdate:
        assert.equal(payload.length, 4);
        assert.ok(payload.readInt32BE() > 0);
        add(this.#granted, stream, payload.readInt32BE());
        if (stream !== 0) assert.ok(!this.#answerOn(stream).isOver, 'WINDOW_UPDATE behind the end');
        return;
      default:
        this.#onStream(received);
    }
  }

  #answerOn(stream: number): Answer {
    assert.ok(this.client.opened.has(stream), `nobody has opened ${stream}`);
    const answer = this.#streams.get(stream) ?? { isBegun: false, isOver: false, isReset: false, length: 0 };
    this.#streams.set(stream, answer);
    return answer;
  }

  #onStream({ type, flags, stream, payload }: Frame): void {
    const answer = this.#answerOn(stream);
    if (type === frameType.rstStream) {
      assert.equal(payload.length, 4);
      assert.ok(!answer.isReset, 'RST_STREAM twice');
      answer.isReset = true;
      answer.isOver = true;
      return;
    }
    assert.ok(!answer.isOver, `type ${type} behind the end`);
    switch (type) {
      case frameType.headers:
      case frameType.continuation: {
        if (type === frameType.headers) this.#block = { stream, bytes: [] };
        assert.equal(this.#block?.stream, stream);
        this.#block?.bytes.push(payload);
        assert.equal(flags & ~endHeaders, 0);
        if ((flags & endHeaders) === 0) return;
        const status = statusOf(Buffer.concat(this.#block?.bytes ?? []));
        this.#block = undefined;
        assert.ok(!answer.isBegun, 'a second head');
        answer.isBegun = status >= 200;
        return;
      }
      case frameType.data: {
        assert.ok(answer.isBegun, 'DATA in front of the head');
        assert.equal(flags & ~endStream, 0);
        const { length } = answer;
        assert.ok(wholeAnswer.subarray(length, length + payload.length).equals(payload), 'other bytes');
        if (payload.length > 0) {
          assert.ok(payload.length <= this.windowOf(stream), `beyond the window of ${stream}`);
          assert.ok(payload.length <= this.windowOf(0), 'beyond the window of the connection');
        }
        answer.length += payload.length;
        this.#length += payload.length;
        if ((flags & endStream) === 0) return;
        answer.isOver = true;
        return assert.ok(answer.length === wholeAnswer.length || answer.length === shortLength, 'a part');
      }
      default:
        assert.fail(`a frame of type ${type}`);
    }
  }
}

/** A request as the host has been given it, with the answer to it. Nothing here throws: the session would catch it. */
class Exchange implements AnswerWriter {
  readonly stream: ServerStream;
  readonly head: RequestHead;
  readonly handling: Handling;
  readonly received: Buffer[] = [];
  hasEnded = false;
  timesClosed = 0;
  readonly #onClosed: () => void;
  #written = 0;

  constructor(stream: ServerStream, head: RequestHead, handling: Handling, onClosed: () => void) {
    this.stream = stream;
    this.head = head;
    this.handling = handling;
    this.#onClosed = onClosed;
    stream.writer = this;
    if (handling.reads && !stream.isReceived) {
      stream.content.on('data', (piece: Buffer) => this.received.push(piece));
      stream.content.on('end', () => {
        this.hasEnded = true;
      });
    }
    switch (handling.answer) {
      case 'at once':
        stream.respond(200, ['Content-Type', 'text/plain']);
        stream.write(wholeAnswer.subarray(0, shortLength));
        stream.end();
        break;
      case 'in pieces':
        stream.respondInterim(100);
        setImmediate(() => {
          stream.respond(200, ['X-Long', longValue]);
          this.onRoom();
        });
        break;
      case 'broken off':
        stream.respond(200, []);
        stream.write(wholeAnswer);
        setImmediate(() => stream.breakOff());
        break;
    }
  }

  onRoom(): void {
    if (this.handling.answer !== 'in pieces' || !this.stream.hasBegun) return;
    while (this.#written < wholeAnswer.length) {
      const piece = wholeAnswer.subarray(this.#written, this.#written + pieceLength);
      this.#written += piece.length;
      const hasRoom = this.stream.write(piece);
      if (!hasRoom && this.#written < wholeAnswer.length) return;
    }
    this.stream.end();
  }

  onClosed(): void {
    this.timesClosed++;
    this.#onClosed();
  }
}

class Host implements ServerSessionHost {
  readonly limits = limits;
  readonly exchanges: Exchange[] = [];
  readonly over = Promise.withResolvers<void>();
  mostOpen = 0;
  timesOver = 0;
  readonly #handling: readonly Handling[];
  #open = 0;

  constructor(handling: readonly Handling[]) {
    this.#handling = handling;
  }

  requested(_session: ServerSession, stream: ServerStream, head: RequestHead): void {
    this.mostOpen = Math.max(this.mostOpen, ++this.#open);
    const handling = this.#handling[this.exchanges.length % this.#handling.length];
    assert.ok(handling !== undefined);
    this.exchanges.push(new Exchange(stream, head, handling, () => this.#open--));
  }

  closed(): void {
    this.timesOver++;
    this.over.resolve();
  }
}

/** Stands for a TLS connection whose client reads what the router writes. */
class ClientSocket extends Duplex {
  readonly answers = new Answers();
  /** What it was that may not come: thrown out of a write it would not get to the test. */
  failure: unknown;
  readonly #isSlow: boolean;
  #onTaken: (() => void) | undefined;

  constructor(isSlow: boolean) {
    super();
    this.#isSlow = isSlow;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: BufferEncoding, callback: () => void): void {
    try {
      this.answers.read(chunk);
    } catch (error) {
      this.failure ??= error;
    }
    if (this.#isSlow) this.#onTaken = callback;
    else callback();
  }

  /** The client takes one write. */
  take(): void {
    const onTaken = this.#onTaken;
    this.#onTaken = undefined;
    onTaken?.();
  }

  /** As `Socket` of node:net has it. */
  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once('finish', () => this.destroy());
  }
}

const connectionSpecific = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/;

function assertValidHead({ method, target, headers }: RequestHead): void {
  assert.match(method, /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/);
  assert.match(target, method === 'CONNECT' ? /^$/ : method === 'OPTIONS' ? /^(?:\/|\*$)/ : /^\//);
  assert.doesNotMatch(target, /[\r\n\0]/);
  assert.equal(headers.length % 2, 0);
  for (const [index, text] of headers.entries()) {
    if (index % 2 === 1) {
      assert.doesNotMatch(text, /[\r\n\0]/);
      if (headers[index - 1] === 'te') assert.equal(text.toLowerCase(), 'trailers');
    } else {
      assert.match(text, /^[^A-Z:\s\0]+$/);
      assert.doesNotMatch(text, connectionSpecific);
    }
  }
}

/** A part of what the client has sent, or all of it. */
function assertIsContentOf(client: Client, { stream, head, received, hasEnded }: Exchange): void {
  const read = Buffer.concat(received);
  const sent = Buffer.concat(client.content.get(stream.id) ?? []);
  assert.ok(sent.subarray(0, read.length).equals(read), 'other content');
  if (!hasEnded) return;
  assert.equal(read.length, head.contentLength ?? sent.length);
}

/** Grants all that answers can need. @returns whether anybody would be heard at all */
function grantAll(socket: ClientSocket, host: Host, bytes: Buffer): boolean {
  const { answers } = socket;
  const { client } = answers;
  if (!client.isAtFrame || client.leaves || answers.goAwayCode !== undefined) return false;
  if (socket.destroyed || !socket.writable) return false;
  const open = host.exchanges.filter(({ timesClosed }) => timesClosed === 0).map(({ stream }) => stream.id);
  const grants = [0, ...open]
    .filter((stream) => answers.windowOf(stream) < 2 ** 23)
    .map((stream) => windowUpdate(stream, 2 ** 23));
  const update = Buffer.concat(grants);
  answers.client = new Client(Buffer.concat([bytes, update]));
  if (update.length > 0) socket.push(update);
  return true;
}

fuzz<Requests>({
  name: 'http2-requests',
  runs: 300,
  arbitrary: fc.record({
    bytes: fc
      .tuple(
        fc.oneof({ weight: 9, arbitrary: fc.constant(opening) }, mutated(fc.constant(opening), pieces)),
        fc.oneof(conversations, mutated(conversations, pieces)),
      )
      .map((parts) => parts.join('')),
    cuts: fc.array(fc.nat({ max: 1_000_000 }), { maxLength: 6 }),
    handling: fc.array(
      fc.record({
        answer: fc.constantFrom('at once', 'in pieces', 'in pieces', 'broken off', 'never'),
        reads: fc.boolean(),
      }),
      { minLength: 1, maxLength: 4 },
    ),
    isSlow: fc.boolean(),
    closedBehind: fc.option(fc.nat({ max: 6 }), { freq: 4 }),
  }),
  async holds({ bytes, cuts, handling, isSlow, closedBehind }) {
    const socket = new ClientSocket(isSlow);
    const { answers } = socket;
    const host = new Host(handling);
    // It stands for one of node:tls: the session asks no more of it.
    const session = new ServerSession(socket as Duplex as TLSSocket, host);
    const nextTurn = async (): Promise<void> => {
      await turn();
      socket.take();
    };
    // From here on what is pushed is read at once, and what that throws is thrown here.
    await nextTurn();
    const all = Buffer.from(bytes, 'latin1');
    const ends = [...cuts.map((cut) => cut % (all.length + 1)), all.length].sort((a, b) => a - b);
    let start = 0;
    for (const [index, end] of ends.entries()) {
      if (socket.destroyed) break;
      answers.client = new Client(all.subarray(0, end));
      if (start < end) socket.push(Buffer.from(all.subarray(start, end)));
      start = end;
      if (index === closedBehind) session.close();
      await nextTurn();
    }
    for (let turns = 0; turns < 3; turns++) await nextTurn();
    const isEnding = (): boolean =>
      host.exchanges.every((each) => each.handling.answer !== 'in pieces' || each.timesClosed > 0);
    if (socket.failure === undefined && grantAll(socket, host, all)) {
      for (let turns = 0; turns < 200 && !isEnding(); turns++) await nextTurn();
      assert.ok(isEnding(), 'an answer does not come to its end');
      for (let turns = 0; turns < 50 && isSlow; turns++) await nextTurn();
      await nextTurn();
      if (socket.failure === undefined) answers.end();
    }
    socket.destroy();
    await host.over.promise;
    await nextTurn();

    if (socket.failure !== undefined) throw socket.failure;
    // The session itself has caught something that nobody foresaw.
    assert.notEqual(answers.goAwayCode, 2);
    assert.equal(host.timesOver, 1);
    assert.ok(host.mostOpen <= limits.maxConcurrentStreams, `${host.mostOpen} streams at a time`);
    for (const exchange of host.exchanges) {
      assert.equal(exchange.timesClosed, 1);
      assertValidHead(exchange.head);
      assertIsContentOf(answers.client, exchange);
    }
  },
});

import assert from 'node:assert/strict';
import { maximumStreamWindow, streamWindow } from '../../../src/node/exchange/serving-limits.ts';
import { statusOf } from '../../support/security/hpack.ts';
import { type Frame, frameFlag, frameType } from '../../support/security/raw-http2.ts';
import { initialWindow } from './client-frames.ts';
import { limits, shortLength, wholeAnswer } from './expected-answers.ts';
import { add, Client } from './written-by-client.ts';

const { endStream, endHeaders, ack } = frameFlag;
const streamClosed = 0x5;

interface Answer {
  isBegun: boolean;
  isOver: boolean;
  isReset: boolean;
  length: number;
}

/** What the router has written, read frame by frame: throws at the first that may not come. */
export class Answers {
  client = new Client(Buffer.alloc(0));
  /** Of GOAWAY (RFC 9113 section 7). */
  goAwayCode: number | undefined;
  /** That the latest GOAWAY names. */
  #lastStream = 2 ** 31 - 1;
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

  /** Only an error follows a GOAWAY, and names no later stream (RFC 9113 section 6.8). */
  #goAway(lastStream: number, code: number): void {
    if (this.goAwayCode !== undefined) assert.notEqual(code, 0);
    assert.ok(lastStream <= this.#lastStream);
    this.#lastStream = lastStream;
    this.goAwayCode = code;
  }

  #frame(received: Frame): void {
    const { type, flags, stream, payload } = received;
    if (this.#frames++ === 0) assert.equal(type, frameType.settings);
    assert.ok(this.goAwayCode === undefined || this.goAwayCode === 0, 'something follows a failure');
    if (this.#block !== undefined) assert.equal(type, frameType.continuation);
    switch (type) {
      case frameType.settings:
        assert.equal(stream, 0);
        if ((flags & ack) === 0) {
          assert.equal(this.#frames, 1);
          break;
        }
        assert.equal(payload.length, 0);
        assert.ok(++this.#acknowledged < this.client.initialWindows.length, 'nothing to acknowledge');
        break;
      case frameType.ping:
        assert.deepEqual([stream, flags, payload.length], [0, ack, 8]);
        assert.ok(++this.#pings <= this.client.pings, 'nothing to answer');
        break;
      case frameType.goAway:
        assert.equal(stream, 0);
        this.#goAway(payload.readUInt32BE(0), payload.readUInt32BE(4));
        break;
      case frameType.windowUpdate:
        assert.equal(payload.length, 4);
        assert.ok(payload.readInt32BE() > 0);
        this.#grant(stream, payload.readInt32BE());
        if (stream !== 0) assert.ok(!this.#answerOn(stream).isOver, 'WINDOW_UPDATE behind the end');
        break;
      default:
        this.#onStream(received);
    }
  }

  /** Only what has come is granted again. */
  #grant(stream: number, increment: number): void {
    add(this.#granted, stream, increment);
    const uploaded = this.client.uploaded.get(stream) ?? 0;
    const ahead =
      stream === 0
        ? limits.maxConcurrentStreams * maximumStreamWindow - initialWindow
        : maximumStreamWindow - streamWindow;
    assert.ok((this.#granted.get(stream) ?? 0) <= ahead + uploaded, `too much is granted on ${stream}`);
  }

  #answerOn(stream: number): Answer {
    assert.ok(stream <= this.client.highest, `${stream} is idle`);
    const answer = this.#streams.get(stream) ?? { isBegun: false, isOver: false, isReset: false, length: 0 };
    this.#streams.set(stream, answer);
    return answer;
  }

  #onStream({ type, flags, stream, payload }: Frame): void {
    const answer = this.#answerOn(stream);
    if (type === frameType.rstStream) {
      assert.equal(payload.length, 4);
      // DATA on a stream that is over is answered each time (RFC 9113 section 6.1).
      assert.ok(!answer.isReset || payload.readUInt32BE(0) === streamClosed, 'RST_STREAM twice');
      answer.isReset = true;
      answer.isOver = true;
      return;
    }
    assert.ok(this.client.opened.has(stream), `nobody has opened ${stream}`);
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
        break;
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
        assert.ok(answer.length === wholeAnswer.length || answer.length === shortLength, 'a part');
        break;
      }
      default:
        assert.fail(`a frame of type ${type}`);
    }
  }
}

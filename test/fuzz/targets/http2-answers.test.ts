import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import fc from 'fast-check';
import { ClientSession } from '../../../src/http2/client/client-session.ts';
import { ConnectionInbox, type SessionSocket } from '../../../src/http2/client/client-session-options.ts';
import type { ClientStream, StreamListener } from '../../../src/http2/client/client-stream.ts';
import { fieldBlock } from '../../support/security/hpack.ts';
import { frame, frameFlag, frameType } from '../../support/security/raw-http2.ts';
import { fuzz } from '../fuzz-target.ts';
import { mutated } from '../mutation.ts';

interface Answers {
  /** What a server writes, as a byte string. */
  readonly bytes: string;
  /** Where it is cut into pieces. */
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

/** What a listener may be told, in this order; anything else fails at once. */
class Watched implements StreamListener {
  state: 'waiting' | 'answering' | 'ended' | 'failed' = 'waiting';
  #expected: number | undefined;
  #received = 0;
  readonly #isHead: boolean;

  constructor(isHead: boolean) {
    this.#isHead = isHead;
  }

  head(status: number, lines: string[]): void {
    assert.equal(this.state, 'waiting');
    assert.ok(status >= 200 && status <= 999);
    assert.ok(lines.every((line) => !/[\r\n\0]/.test(line)));
    this.state = 'answering';
    const length = lines.indexOf('content-length');
    const hasContent = !this.#isHead && status !== 204 && status !== 304;
    if (hasContent && length !== -1) this.#expected = Number(lines[length + 1]);
  }

  data(piece: Uint8Array): void {
    assert.equal(this.state, 'answering');
    this.#received += piece.length;
  }

  end(): void {
    assert.equal(this.state, 'answering');
    this.state = 'ended';
    if (this.#expected !== undefined) assert.equal(this.#received, this.#expected);
  }

  fail(): void {
    assert.ok(this.state === 'waiting' || this.state === 'answering', this.state);
    this.state = 'failed';
  }
}

/** A socket that swallows what is written to it. */
function newSocket(): SessionSocket {
  const socket = new Duplex({
    read() {},
    write(_chunk, _encoding, callback) {
      callback();
    },
  });
  return Object.assign(socket, { destroySoon: () => socket.destroy() });
}

fuzz<Answers>({
  name: 'http2-answers',
  runs: 2_000,
  arbitrary: fc.record({
    bytes: mutated(fc.constantFrom(...seeds), pieces),
    cuts: fc.array(fc.nat({ max: 200 }), { maxLength: 6 }),
  }),
  async holds({ bytes, cuts }) {
    const socket = newSocket();
    const inbox = new ConnectionInbox();
    const closed = Promise.withResolvers<void>();
    const nothing = (): void => {};
    const session = new ClientSession({
      socket,
      inbox,
      authority: 'server',
      limits: { streamWindow: 1_024, maximumHeaderLines: 16, maximumHeaderBytes: 1_024 },
      connectionWindow: 4_096,
      events: {
        onSettings: nothing,
        onGoAway: nothing,
        onStreamClosed: nothing,
        onRoom: nothing,
        onClosed: () => closed.resolve(),
      },
    });
    const listeners: Watched[] = [];
    const streams: ClientStream[] = [];
    for (const method of ['GET', 'HEAD', 'POST']) {
      const listener = new Watched(method === 'HEAD');
      listeners.push(listener);
      const content = method === 'POST' ? Buffer.from('body') : undefined;
      streams.push(session.request({ method, target: '/', headers: [], content }, listener));
    }
    streams[0]?.pause();
    const { buffer, callback } = inbox.onread;
    assert.ok(buffer instanceof Uint8Array);
    const all = Buffer.from(bytes, 'latin1');
    const ends = [...cuts.map((cut) => cut % (all.length + 1)), all.length].sort((a, b) => a - b);
    let start = 0;
    for (const end of ends) {
      if (start === end) continue;
      buffer.set(all.subarray(start, end));
      // Whatever it throws would end the process.
      callback(end - start, buffer);
      start = end;
    }
    streams[0]?.resume();
    session.destroy(new Error('over'));
    await closed.promise;
    for (const { state } of listeners) assert.ok(state === 'ended' || state === 'failed', state);
  },
});

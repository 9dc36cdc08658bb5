import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import { eventually } from '../eventually.ts';
import type { Client } from './certificates.ts';
import { connectToRouter } from './connect-to-router.ts';
import { fieldBlock, statusOf } from './hpack.ts';
import { assertNoSecretIn } from './secrets.ts';

/** RFC 9113 section 6. */
export const frameType = {
  data: 0x0,
  headers: 0x1,
  priority: 0x2,
  rstStream: 0x3,
  settings: 0x4,
  pushPromise: 0x5,
  ping: 0x6,
  goAway: 0x7,
  windowUpdate: 0x8,
  continuation: 0x9,
} as const;

export const frameFlag = {
  none: 0x0,
  endStream: 0x1,
  ack: 0x1,
  endHeaders: 0x4,
  padded: 0x8,
  priority: 0x20,
} as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly stream: number;
  readonly payload: Buffer;
}

export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** How a request ended. */
interface StreamOutcome {
  /** `undefined` when the stream or the connection ended without an answer. */
  readonly status: number | undefined;
  readonly body: string;
}

/** An HTTP/2 connection on which a test writes frames that no client library would. */
export class RawHttp2 {
  readonly socket: TLSSocket;
  readonly frames: Frame[] = [];
  /** The router closed its side, or all of it. */
  ended = false;
  #unread = Buffer.alloc(0);

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.setNoDelay();
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    const over = (): void => {
      this.ended = true;
    };
    socket.on('end', over).on('close', over).on('error', over);
  }

  /** Whether the router has said that it takes no more, or has hung up. */
  get isOver(): boolean {
    return this.ended || this.frames.some(({ type }) => type === frameType.goAway);
  }

  write(...frames: Buffer[]): void {
    if (!this.ended) this.socket.write(Buffer.concat(frames));
  }

  /** One request: lines as they are, pseudo headers among them. */
  request(stream: number, lines: readonly string[], { endStream = true } = {}): void {
    const flags = frameFlag.endHeaders | (endStream ? frameFlag.endStream : 0);
    this.write(frame(frameType.headers, flags, stream, fieldBlock(lines)));
  }

  /** Waits for the answer to a request, or for its end without one. */
  async outcome(stream: number): Promise<StreamOutcome> {
    await eventually(() => this.isOver || this.#on(stream).some(isLast));
    const frames = this.#on(stream);
    const head = frames.find(({ type }) => type === frameType.headers);
    const data = frames.filter(({ type }) => type === frameType.data).map(({ payload }) => payload);
    return {
      status: head === undefined ? undefined : statusOf(head.payload),
      body: Buffer.concat(data).toString('latin1'),
    };
  }

  #on(stream: number): Frame[] {
    return this.frames.filter((each) => each.stream === stream);
  }

  #read(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    while (this.#unread.length >= 9) {
      const length = this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < 9 + length) return;
      const received: Frame = {
        type: this.#unread.readUInt8(3),
        flags: this.#unread.readUInt8(4),
        stream: this.#unread.readUInt32BE(5) & 0x7fffffff,
        payload: this.#unread.subarray(9, 9 + length),
      };
      this.#unread = this.#unread.subarray(9 + length);
      this.frames.push(received);
      const isSettings = received.type === frameType.settings && received.flags === frameFlag.none;
      if (isSettings) this.write(frame(frameType.settings, frameFlag.ack, 0));
    }
  }
}

function isLast({ type, flags }: Frame): boolean {
  if (type === frameType.rstStream) return true;
  return (type === frameType.data || type === frameType.headers) && (flags & frameFlag.endStream) !== 0;
}

/** Preface and settings are exchanged; destroyed at the end of the test. */
export async function rawHttp2(
  context: TestContext,
  port: number,
  client: Client = 'nobody',
): Promise<RawHttp2> {
  const raw = await connectToRouter(context, port, 'h2', client, (socket) => new RawHttp2(socket));
  context.after(() => {
    for (const { payload } of raw.frames) assertNoSecretIn(payload.toString('latin1'), 'a frame');
  });
  raw.write(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(frameType.settings, frameFlag.none, 0));
  await eventually(() => raw.frames.length > 0);
  return raw;
}

import type { TLSSocket } from 'node:tls';
import { eventually } from './eventually.ts';
import { fieldBlock, statusOf } from './hpack.ts';

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

/** 32 bits in network order: the payload of RST_STREAM and WINDOW_UPDATE. */
export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
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
  /** The peer closed its side, or all of it. */
  ended = false;
  #unread: Buffer = Buffer.alloc(0);
  #pings = 0;

  constructor(socket: TLSSocket) {
    this.socket = socket;
    socket.setNoDelay();
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    const over = (): void => {
      this.ended = true;
    };
    socket.on('end', over).on('close', over).on('error', over);
  }

  /** True if the peer has said that it takes no more, or has hung up. */
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

  /** Received ones of this type, of one stream or of all. */
  of(type: number, stream?: number): Frame[] {
    return this.frames.filter((each) => each.type === type && (stream ?? each.stream) === each.stream);
  }

  /** Bytes of content that came on a stream. */
  received(stream: number): number {
    return this.of(frameType.data, stream).reduce((sum, { payload }) => sum + payload.length, 0);
  }

  /** Until the peer has dealt with all that was written, and its answers are here. */
  async settled(): Promise<void> {
    const payload = uint32(0x7e57, ++this.#pings);
    this.write(frame(frameType.ping, frameFlag.none, 0, payload));
    await eventually(() =>
      this.of(frameType.ping).some((each) => each.flags === frameFlag.ack && each.payload.equals(payload)),
    );
  }

  /** The error code of the GOAWAY, once it is here. */
  async goAwayCode(): Promise<number | undefined> {
    await eventually(() => this.of(frameType.goAway).length > 0);
    return this.of(frameType.goAway)[0]?.payload.readUInt32BE(4);
  }

  /**
   * The error code that the connection ended with. `undefined` where the client began to read so late that the
   * server had given it up, and the GOAWAY was lost with the connection.
   */
  async endedWith(): Promise<number | undefined> {
    await eventually(() => this.isOver);
    return this.of(frameType.goAway)[0]?.payload.readUInt32BE(4);
  }

  /** The error code of a stream's RST_STREAM, once it is here. */
  async resetCode(stream: number): Promise<number | undefined> {
    await eventually(() => this.of(frameType.rstStream, stream).length > 0);
    return this.of(frameType.rstStream, stream)[0]?.payload.readUInt32BE(0);
  }

  /** True if END_STREAM came on the stream. */
  hasEnded(stream: number): boolean {
    return this.of(frameType.data, stream).some(({ flags }) => (flags & frameFlag.endStream) !== 0);
  }

  /** RFC 9113 section 6.9. */
  widen(stream: number, increment: number): void {
    this.write(frame(frameType.windowUpdate, frameFlag.none, stream, uint32(increment)));
  }

  data(stream: number, content: string | Buffer, flags: number = frameFlag.none): void {
    this.write(frame(frameType.data, flags, stream, Buffer.from(content)));
  }

  #on(stream: number): Frame[] {
    return this.frames.filter((each) => each.stream === stream);
  }

  #read(chunk: Buffer): void {
    this.#unread = this.beginning(Buffer.concat([this.#unread, chunk]));
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
      this.took(received);
    }
  }

  /** Takes off what is no frame yet. @returns what is left of what was received */
  protected beginning(unread: Buffer): Buffer {
    return unread;
  }

  protected took({ type, flags }: Frame): void {
    const isSettings = type === frameType.settings && flags === frameFlag.none;
    if (isSettings) this.write(frame(frameType.settings, frameFlag.ack, 0));
  }
}

function isLast({ type, flags }: Frame): boolean {
  if (type === frameType.rstStream) return true;
  return (type === frameType.data || type === frameType.headers) && (flags & frameFlag.endStream) !== 0;
}

import type { TestContext } from 'node:test';
import { createServer, type TLSSocket } from 'node:tls';
import type { Destination } from '../../src/request/destination.ts';
import { eventually } from './eventually.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';
import { destinationAt, peerPair } from './node-exchange.ts';
import { fieldBlock } from './security/hpack.ts';
import { type Frame, frame, frameFlag, frameType } from './security/raw-http2.ts';

const prefaceLength = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length;

/** 32 bits in network order: the payload of RST_STREAM and WINDOW_UPDATE. */
export function uint32(...values: number[]): Buffer {
  const bytes = Buffer.alloc(4 * values.length);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, 4 * index);
  return bytes;
}

/** SETTINGS. @param entries identifier, value, identifier, value, … (RFC 9113 section 6.5) */
export function settingsFrame(...entries: number[]): Buffer {
  const payload = Buffer.alloc(entries.length * 3);
  for (let index = 0; index < entries.length; index += 2) {
    payload.writeUInt16BE(entries[index] ?? 0, index * 3);
    payload.writeUInt32BE(entries[index + 1] ?? 0, index * 3 + 2);
  }
  return frame(frameType.settings, frameFlag.none, 0, payload);
}

/** HEADERS of an answer; lines as they are, `:status` among them. */
export function headFrame(stream: number, lines: readonly string[], flags: number = frameFlag.none): Buffer {
  return frame(frameType.headers, flags | frameFlag.endHeaders, stream, fieldBlock(lines));
}

export function dataFrame(stream: number, content: string | Buffer, flags: number = frameFlag.none): Buffer {
  return frame(frameType.data, flags, stream, Buffer.from(content));
}

/** A whole answer with status 200. */
export function okFrames(stream: number, content: string): Buffer {
  return Buffer.concat([
    headFrame(stream, [':status', '200']),
    dataFrame(stream, content, frameFlag.endStream),
  ]);
}

/** One connection to a server that reads frames, and writes whatever its test wants. */
export class RawHttp2Peer {
  readonly socket: TLSSocket;
  /** Received so far. */
  readonly frames: Frame[] = [];
  closed = false;
  /** What the connection began with, once it is here. */
  preface: string | undefined;
  readonly #onFrame: (peer: RawHttp2Peer, received: Frame) => void;
  #unread = Buffer.alloc(0);
  #pings = 0;

  constructor(socket: TLSSocket, onFrame: (peer: RawHttp2Peer, received: Frame) => void) {
    this.socket = socket;
    this.#onFrame = onFrame;
    socket
      .setNoDelay()
      .on('error', () => {})
      .on('close', () => {
        this.closed = true;
      })
      .on('data', (chunk: Buffer) => this.#read(chunk));
  }

  write(...frames: Buffer[]): void {
    this.socket.write(Buffer.concat(frames));
  }

  /** Received ones of this type, of one stream or of all. */
  of(type: number, stream?: number): Frame[] {
    return this.frames.filter((each) => each.type === type && (stream ?? each.stream) === each.stream);
  }

  /** Until the other side has dealt with all that was written, and its answers are here. */
  async settled(): Promise<void> {
    const payload = uint32(0x7e57, ++this.#pings);
    const isAnswer = (each: Frame): boolean => each.flags === frameFlag.ack && each.payload.equals(payload);
    this.write(frame(frameType.ping, frameFlag.none, 0, payload));
    await eventually(() => this.of(frameType.ping).some(isAnswer));
  }

  /** The error code of the GOAWAY that was received, once it is here. */
  async goAwayCode(): Promise<number | undefined> {
    await eventually(() => this.of(frameType.goAway).length > 0);
    return this.of(frameType.goAway)[0]?.payload.readUInt32BE(4);
  }

  /** The error code of a stream's RST_STREAM, once it is here. */
  async resetCode(stream: number): Promise<number | undefined> {
    await eventually(() => this.of(frameType.rstStream, stream).length > 0);
    return this.of(frameType.rstStream, stream)[0]?.payload.readUInt32BE(0);
  }

  #read(chunk: Buffer): void {
    this.#unread = Buffer.concat([this.#unread, chunk]);
    if (this.preface === undefined) {
      if (this.#unread.length < prefaceLength) return;
      this.preface = this.#unread.toString('latin1', 0, prefaceLength);
      this.#unread = this.#unread.subarray(prefaceLength);
    }
    while (this.#unread.length >= 9 && this.#unread.length >= 9 + this.#unread.readUIntBE(0, 3)) {
      const length = this.#unread.readUIntBE(0, 3);
      const received: Frame = {
        type: this.#unread.readUInt8(3),
        flags: this.#unread.readUInt8(4),
        stream: this.#unread.readUInt32BE(5),
        payload: this.#unread.subarray(9, 9 + length),
      };
      this.#unread = this.#unread.subarray(9 + length);
      this.frames.push(received);
      this.#onFrame(this, received);
    }
  }
}

export interface RawHttp2Server {
  readonly port: number;
  readonly destination: Destination;
  /** One for each connection, in the order of their handshakes. */
  readonly peers: RawHttp2Peer[];
}

export interface RawHttp2ServerOptions {
  /** Called with each frame as it is received. Default: nothing is answered. */
  readonly onFrame?: (peer: RawHttp2Peer, received: Frame) => void;
  /** What each connection begins with. Default: empty SETTINGS. */
  readonly first?: Buffer;
}

/** Stopped at the end of the test. */
export async function startRawHttp2Server(
  context: TestContext,
  { onFrame = () => {}, first = settingsFrame() }: RawHttp2ServerOptions = {},
): Promise<RawHttp2Server> {
  const peers: RawHttp2Peer[] = [];
  const tls = { cert: peerPair.chain, key: peerPair.privateKey, ALPNProtocols: ['h2'] };
  const server = createServer(tls, (socket) => {
    const peer = new RawHttp2Peer(socket, onFrame);
    peers.push(peer);
    peer.write(first);
  });
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  return { port, destination: destinationAt(`https://127.0.0.1:${port}`), peers };
}

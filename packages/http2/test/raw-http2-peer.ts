import type { TestContext } from 'node:test';
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls';
import { serving } from './certificate.ts';
import { fieldBlock } from './hpack.ts';
import { listenOnLoopback } from './listen-on-loopback.ts';
import { type Frame, frame, frameFlag, frameType, RawHttp2 } from './raw-http2.ts';

const prefaceLength = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.length;

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
export class RawHttp2Peer extends RawHttp2 {
  /** The text that the connection began with, once it is here. */
  preface: string | undefined;
  #begun = Buffer.alloc(0);
  readonly #onFrame: (peer: RawHttp2Peer, received: Frame) => void;

  constructor(socket: TLSSocket, onFrame: (peer: RawHttp2Peer, received: Frame) => void) {
    super(socket);
    this.#onFrame = onFrame;
  }

  protected override beginning(unread: Buffer): Buffer {
    if (this.preface !== undefined) return unread;
    this.#begun = Buffer.concat([this.#begun, unread]);
    if (this.#begun.length < prefaceLength) return Buffer.alloc(0);
    this.preface = this.#begun.toString('latin1', 0, prefaceLength);
    return this.#begun.subarray(prefaceLength);
  }

  protected override took(received: Frame): void {
    this.#onFrame(this, received);
  }
}

export interface RawHttp2Server {
  readonly port: number;
  /** One for each connection, in the order of their handshakes. */
  readonly peers: RawHttp2Peer[];
}

export interface RawHttp2ServerOptions {
  /** Called with each frame as it is received. Default: nothing is answered. */
  readonly onFrame?: (peer: RawHttp2Peer, received: Frame) => void;
  /** The first bytes of each connection. Default: empty SETTINGS. */
  readonly first?: Buffer;
  /** Default: the certificate of the tests. */
  readonly tls?: TlsOptions;
}

/** Stopped at the end of the test. */
export async function startRawHttp2Server(
  context: TestContext,
  { onFrame = () => {}, first = settingsFrame(), tls = serving }: RawHttp2ServerOptions = {},
): Promise<RawHttp2Server> {
  const peers: RawHttp2Peer[] = [];
  const server = createServer({ ...tls, ALPNProtocols: ['h2'] }, (socket) => {
    const peer = new RawHttp2Peer(socket, onFrame);
    peers.push(peer);
    peer.write(first);
  });
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  return { port, peers };
}

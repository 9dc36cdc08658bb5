import type { Duplex, Writable } from 'node:stream';
import { SendWindow } from '../frames/flow-window.ts';
import {
  defaultMaximumFrameSize,
  frameFlag,
  frameHead,
  frameType,
  headersFrames,
  initialConnectionWindow,
  uint32,
} from '../frames/frame.ts';
import { emptyTable } from '../hpack/header-encoder.ts';
import { GatheredWrites } from '../sockets/gathered-writes.ts';

/** A stream that waits for flow control, or for the client to read. */
export interface WaitingStream {
  /** Whether it is in the list of waiting streams. */
  isWaiting: boolean;
  /** Whether content waits that needs the connection's window. */
  readonly hasQueuedContent: boolean;
  /** More may be sent. */
  proceed(): void;
}

export interface ServerOutputListener {
  /** A DATA frame was written. @param bytes of content */
  readonly onDataSent: (bytes: number) => void;
  /** A stream failed to continue: an error of ours. */
  readonly onFailure: (error: unknown) => void;
}

/** Writes the frames of all streams of one connection. */
export class ServerOutput {
  readonly sendWindow = new SendWindow(initialConnectionWindow);
  readonly #writes: GatheredWrites;
  readonly #listener: ServerOutputListener;
  #unread = 0;
  #unreadContent = 0;
  #hasSentHeaders = false;
  /** Oldest first. */
  #waiting: WaitingStream[] = [];

  constructor(socket: Writable, listener: ServerOutputListener) {
    this.#writes = new GatheredWrites(socket, () => this.#drained());
    this.#listener = listener;
  }

  /** The client does not read for now: content waits. */
  get needsDrain(): boolean {
    return this.#writes.needsDrain;
  }

  /** Bytes other than content that were written since the client stopped reading. */
  get unread(): number {
    return this.#unread;
  }

  /** Bytes of content, likewise. */
  get unreadContent(): number {
    return this.#unreadContent;
  }

  /** @param frames a byte string, without DATA */
  write(frames: string): void {
    if (this.#writes.needsDrain) this.#unread += frames.length;
    this.#writes.addText(frames);
  }

  /** @param block the header block of a response */
  headers(streamId: number, block: string): void {
    // We use no dynamic table, whatever SETTINGS_HEADER_TABLE_SIZE the client names now or later (RFC 7541 section 4.2).
    const whole = this.#hasSentHeaders ? block : emptyTable + block;
    this.#hasSentHeaders = true;
    this.write(headersFrames(streamId, whole, false));
  }

  /**
   * Writes content as far as the windows allow. It does so while `needsDrain`, too: the piece is here already, and a copy
   * elsewhere would cost as much.
   * @param window of the stream @param piece copied
   * @returns how many bytes were written
   */
  data(streamId: number, window: SendWindow, piece: Uint8Array): number {
    const { sendWindow } = this;
    let offset = 0;
    while (offset < piece.length) {
      const left = Math.min(sendWindow.left, window.left);
      const length = Math.min(piece.length - offset, left, defaultMaximumFrameSize);
      if (length <= 0) break;
      sendWindow.take(length);
      window.take(length);
      if (this.#writes.needsDrain) this.#unreadContent += length;
      this.#writes.addText(frameHead(length, frameType.data, frameFlag.none, streamId));
      this.#writes.add(length === piece.length ? piece : piece.subarray(offset, offset + length));
      offset += length;
      this.#listener.onDataSent(length);
    }
    return offset;
  }

  endStream(streamId: number): void {
    this.write(frameHead(0, frameType.data, frameFlag.endStream, streamId));
  }

  /** @param code RFC 9113 section 7 */
  reset(streamId: number, code: number): void {
    this.write(frameHead(4, frameType.rstStream, frameFlag.none, streamId) + uint32(code));
  }

  windowUpdate(streamId: number, increment: number): void {
    this.write(frameHead(4, frameType.windowUpdate, frameFlag.none, streamId) + uint32(increment));
  }

  goAway(lastStreamId: number, code: number): void {
    this.write(frameHead(8, frameType.goAway, frameFlag.none, 0) + uint32(lastStreamId) + uint32(code));
  }

  flush(): void {
    this.#writes.flush();
  }

  /** Has `proceed` of the stream called when more may be sent. */
  wait(stream: WaitingStream): void {
    if (stream.isWaiting) return;
    stream.isWaiting = true;
    this.#waiting.push(stream);
  }

  stopWaiting(stream: WaitingStream): void {
    if (!stream.isWaiting) return;
    stream.isWaiting = false;
    this.#waiting = this.#waiting.filter((each) => each !== stream);
  }

  /** Lets the waiting streams send. */
  proceed(): void {
    if (this.#writes.needsDrain || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    const kept: WaitingStream[] = [];
    for (const stream of waiting) {
      // It may have been closed meanwhile.
      if (!stream.isWaiting) continue;
      // Streams that cannot send now stay ahead of those that could. Otherwise the first stream would starve the others
      // when a client widens the window a little at a time.
      if (this.#writes.needsDrain || (this.sendWindow.left <= 0 && stream.hasQueuedContent)) {
        kept.push(stream);
        continue;
      }
      stream.isWaiting = false;
      stream.proceed();
    }
    if (kept.length > 0) this.#waiting = [...kept.filter(({ isWaiting }) => isWaiting), ...this.#waiting];
  }

  #drained(): void {
    this.#unread = 0;
    this.#unreadContent = 0;
    try {
      this.proceed();
    } catch (error) {
      this.#listener.onFailure(error);
    }
  }
}

/**
 * Ends a connection after its last bytes. Until the client closes its side, the caller must keep reading and discard
 * what it reads: a socket that is closed with unread data sends a TCP reset, on which the client loses what it has not
 * read yet (RFC 9112 section 9.6 says so of HTTP/1.1).
 * @param timeout milliseconds without progress after which the connection is destroyed; twice as many at most
 */
export function lingeringClose(socket: Duplex, timeout: number): void {
  socket.end();
  let left = Number.POSITIVE_INFINITY;
  const timer = setInterval(() => {
    if (socket.writableLength >= left) socket.destroy();
    left = socket.writableLength;
  }, timeout).unref();
  socket.once('close', () => clearInterval(timer));
}

import type { Writable } from 'node:stream';
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

/** A stream with something that waits for a window, or for the client to read. */
export interface WaitingStream {
  /** In the list of those that wait. */
  isWaiting: boolean;
  /** Whether content waits, for which the connection's window is needed. */
  readonly isHolding: boolean;
  /** There may be room. */
  proceed(): void;
}

export interface ServerOutputListener {
  /** A frame of DATA was written. @param bytes of content */
  readonly onDataSent: (bytes: number) => void;
  /** A stream could not go on: a fault of ours. */
  readonly onFailure: (error: unknown) => void;
}

/** What one connection writes: frames of all its streams, in the order in which they have to come. */
export class ServerOutput {
  /** Of all streams together. */
  readonly sendWindow = new SendWindow(initialConnectionWindow);
  readonly #writes: GatheredWrites;
  readonly #listener: ServerOutputListener;
  #unread = 0;
  #unreadContent = 0;
  #hasSentHeaders = false;
  /** In the order in which they began to wait. */
  #waiting: WaitingStream[] = [];

  constructor(socket: Writable, listener: ServerOutputListener) {
    this.#writes = new GatheredWrites(socket, () => this.#roomAgain());
    this.#listener = listener;
  }

  /** The client reads nothing for now: content waits. */
  get isHeld(): boolean {
    return this.#writes.isHeld;
  }

  /** Bytes other than content that have had to be written since the client fell behind. */
  get unread(): number {
    return this.#unread;
  }

  /** The same of content. */
  get unreadContent(): number {
    return this.#unreadContent;
  }

  /** @param frames a byte string; no content */
  write(frames: string): void {
    if (this.#writes.isHeld) this.#unread += frames.length;
    this.#writes.addText(frames);
  }

  /** @param block the header block of an answer */
  headers(streamId: number, block: string): void {
    // Answers whatever size of table the client's settings name, then and later (RFC 7541 section 4.2): we use none.
    const whole = this.#hasSentHeaders ? block : emptyTable + block;
    this.#hasSentHeaders = true;
    this.write(headersFrames(streamId, whole, false));
  }

  /**
   * Taken also from one that is to wait for the client: a piece that comes behind its being told so is there already,
   * and to copy it elsewhere first would be dear.
   * @param window of the stream @param piece lent
   * @returns how much of it has been taken: what the windows have room for
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
      if (this.#writes.isHeld) this.#unreadContent += length;
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

  /** `proceed` of the stream is called when there may be room. */
  waits(stream: WaitingStream): void {
    if (stream.isWaiting) return;
    stream.isWaiting = true;
    this.#waiting.push(stream);
  }

  /** It is over. */
  waitsNoMore(stream: WaitingStream): void {
    if (!stream.isWaiting) return;
    stream.isWaiting = false;
    this.#waiting = this.#waiting.filter((each) => each !== stream);
  }

  /** More may be sent. */
  proceed(): void {
    if (this.#writes.isHeld || this.#waiting.length === 0) return;
    const waiting = this.#waiting;
    this.#waiting = [];
    const kept: WaitingStream[] = [];
    for (const stream of waiting) {
      // It may be over meanwhile.
      if (!stream.isWaiting) continue;
      // Those that get nothing now keep their place in front of those that got something: where a client takes little at
      // a time, the first would leave the others nothing.
      if (this.#writes.isHeld || (this.sendWindow.left <= 0 && stream.isHolding)) {
        kept.push(stream);
        continue;
      }
      stream.isWaiting = false;
      stream.proceed();
    }
    if (kept.length > 0) this.#waiting = [...kept.filter(({ isWaiting }) => isWaiting), ...this.#waiting];
  }

  #roomAgain(): void {
    this.#unread = 0;
    this.#unreadContent = 0;
    try {
      this.proceed();
    } catch (error) {
      this.#listener.onFailure(error);
    }
  }
}

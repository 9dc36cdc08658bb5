import { emptyTable } from '../hpack/header-encoder.ts';
import { GatheredWrites, type PieceWriter } from '../sockets/gathered-writes.ts';
import type { HeldBytes } from '../sockets/held-bytes.ts';
import { SendWindow } from './flow-control.ts';
import {
  defaultMaximumFrameSize,
  frameFlag,
  frameHead,
  frameType,
  headersFrames,
  initialConnectionWindow,
  uint32,
} from './frame.ts';

export interface WaitingStream {
  readonly hasQueuedContent: boolean;
  proceed(): void;
}

export interface FrameOutputListener {
  readonly onDataSent?: (bytes: number) => void;
  readonly onRoom?: () => void;
  readonly onFailure: (error: unknown) => void;
}

export class FrameOutput extends GatheredWrites {
  readonly sendWindow = new SendWindow(initialConnectionWindow);
  readonly #listener: FrameOutputListener;
  /** Bytes of frames other than HEADERS and DATA that were written since the peer stopped reading. */
  unread = 0;
  unreadHeads = 0;
  unreadContent = 0;
  #hasSentHeaders = false;
  #waiting: WaitingStream[] = [];

  constructor(socket: PieceWriter, listener: FrameOutputListener, held?: HeldBytes) {
    super(socket, () => this.#drained(), held);
    this.#listener = listener;
  }

  write(frames: string): void {
    if (this.needsDrain) this.unread += frames.length;
    this.addText(frames);
  }

  headers(streamId: number, block: string, endStream: boolean): void {
    // We use no dynamic table, whatever SETTINGS_HEADER_TABLE_SIZE the peer names now or later (RFC 7541 section 4.2).
    const whole = this.#hasSentHeaders ? block : emptyTable + block;
    this.#hasSentHeaders = true;
    const frames = headersFrames(streamId, whole, endStream);
    if (this.needsDrain) this.unreadHeads += frames.length;
    // Content mostly follows in the next TLS record, which may be an input of its own.
    this.addText(frames, endStream);
  }

  /**
   * Writes content as far as the windows allow, also while `needsDrain`: then the caller decides whether to keep it.
   * @param window of the stream @param piece copied
   * @param endStream whether nothing follows the piece
   * @returns how many bytes were written
   */
  data(streamId: number, window: SendWindow, piece: Uint8Array, endStream = false): number {
    const { sendWindow } = this;
    let offset = 0;
    while (offset < piece.length) {
      const left = Math.min(sendWindow.left, window.left);
      const length = Math.min(piece.length - offset, left, defaultMaximumFrameSize);
      if (length <= 0) break;
      sendWindow.left -= length;
      window.left -= length;
      if (this.needsDrain) this.unreadContent += length;
      const isLast = endStream && offset + length === piece.length;
      const flags = isLast ? frameFlag.endStream : frameFlag.none;
      const content = length === piece.length ? piece : piece.subarray(offset, offset + length);
      this.addFrame(frameHead(length, frameType.data, flags, streamId), content);
      offset += length;
      this.#listener.onDataSent?.(length);
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

  wait(stream: WaitingStream): void {
    if (!this.#waiting.includes(stream)) this.#waiting.push(stream);
  }

  stopWaiting(stream: WaitingStream): void {
    const place = this.#waiting.indexOf(stream);
    if (place !== -1) this.#waiting.splice(place, 1);
  }

  proceed(): void {
    if (this.needsDrain || this.#waiting.length === 0) return;
    for (const stream of [...this.#waiting]) {
      // Streams that cannot send now keep their places, ahead of those that could. Otherwise the first stream would starve the
      // others when a peer widens the window a little at a time.
      if (this.needsDrain || (this.sendWindow.left <= 0 && stream.hasQueuedContent)) continue;
      const place = this.#waiting.indexOf(stream);
      // Another one that proceeded has ended it.
      if (place === -1) continue;
      this.#waiting.splice(place, 1);
      stream.proceed();
    }
  }

  #drained(): void {
    this.unread = 0;
    this.unreadHeads = 0;
    this.unreadContent = 0;
    try {
      this.proceed();
      this.#listener.onRoom?.();
    } catch (error) {
      this.#listener.onFailure(error);
    }
  }
}

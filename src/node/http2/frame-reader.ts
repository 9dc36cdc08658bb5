import { defaultMaximumFrameSize, errorCode, frameHeadLength, frameType } from './frame.ts';
import { connectionFault } from './http2-error.ts';

/** What is done with frames. Bytes are lent: they are overwritten as soon as the method returns. */
export interface FrameHandler {
  /** Any frame but DATA, in one piece. */
  frame(type: number, flags: number, streamId: number, payload: Buffer): void;
  /** The head of a DATA frame. @param length of its payload, padding and all, in bytes */
  dataBegins(flags: number, streamId: number, length: number): void;
  /** Some of its payload, in order; never empty. */
  dataPiece(piece: Buffer): void;
  /** All of its payload has been handed over. */
  dataEnds(): void;
}

/**
 * Cuts what a connection receives into frames, however it arrives in pieces. DATA is handed on as it comes; the
 * payload of other frames is collected, as they mostly come whole anyway.
 */
export class FrameReader {
  readonly #handler: FrameHandler;
  /** Of a frame whose beginning came without its end: its head and what there is of its payload. */
  #partial: Buffer | undefined;
  /** Bytes that are still to come of a DATA frame. */
  #dataLeft = 0;
  #stopped = false;

  constructor(handler: FrameHandler) {
    this.#handler = handler;
  }

  /** What comes from now on is thrown away. */
  stop(): void {
    this.#stopped = true;
    this.#partial = undefined;
  }

  /** @throws {Http2Error} what the handler throws, and FRAME_SIZE_ERROR (RFC 9113 section 4.2). */
  receive(chunk: Buffer): void {
    let bytes = chunk;
    if (this.#partial !== undefined) {
      bytes = Buffer.concat([this.#partial, chunk]);
      this.#partial = undefined;
    }
    let offset = 0;
    while (offset < bytes.length && !this.#stopped) {
      if (this.#dataLeft > 0) {
        offset = this.#takeData(bytes, offset);
        continue;
      }
      const end = this.#takeFrame(bytes, offset);
      if (end === offset) {
        // The chunk is overwritten afterwards, unless it is our own already.
        const rest = bytes.subarray(offset);
        this.#partial = bytes === chunk ? Buffer.from(rest) : rest;
        return;
      }
      offset = end;
    }
  }

  /** @returns where the frame ends, or where it begins if it has not come far enough. */
  #takeFrame(bytes: Buffer, offset: number): number {
    const begin = offset + frameHeadLength;
    if (begin > bytes.length) return offset;
    const length =
      ((bytes[offset] as number) << 16) |
      ((bytes[offset + 1] as number) << 8) |
      (bytes[offset + 2] as number);
    if (length > defaultMaximumFrameSize) {
      throw connectionFault(errorCode.frameSizeError, 'a frame is longer than was allowed');
    }
    const type = bytes[offset + 3] as number;
    const flags = bytes[offset + 4] as number;
    const streamId =
      (((bytes[offset + 5] as number) & 0x7f) << 24) |
      ((bytes[offset + 6] as number) << 16) |
      ((bytes[offset + 7] as number) << 8) |
      (bytes[offset + 8] as number);
    if (type === frameType.data) {
      this.#handler.dataBegins(flags, streamId, length);
      this.#dataLeft = length;
      if (length === 0) this.#handler.dataEnds();
      return begin;
    }
    if (begin + length > bytes.length) return offset;
    this.#handler.frame(type, flags, streamId, bytes.subarray(begin, begin + length));
    return begin + length;
  }

  #takeData(bytes: Buffer, offset: number): number {
    const end = Math.min(bytes.length, offset + this.#dataLeft);
    this.#dataLeft -= end - offset;
    this.#handler.dataPiece(bytes.subarray(offset, end));
    if (this.#dataLeft === 0) this.#handler.dataEnds();
    return end;
  }
}

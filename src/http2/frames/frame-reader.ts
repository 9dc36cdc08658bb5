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
  readonly #maximumFrameSize: number;
  /** A frame whose beginning came without its end, in a buffer as long as all of it; or its head, while that is not whole. */
  #partial: Buffer | undefined;
  /** Bytes of it that are there. */
  #partialLength = 0;
  /** Bytes that are still to come of a DATA frame. */
  #dataLeft = 0;
  #stopped = false;

  /** @param maximumFrameSize bytes of a payload that the other side was allowed */
  constructor(handler: FrameHandler, maximumFrameSize: number = defaultMaximumFrameSize) {
    this.#handler = handler;
    this.#maximumFrameSize = maximumFrameSize;
  }

  /** The frame whose end is still to come, if it is held: its identity, and how many bytes it takes. */
  get unfinished(): Buffer | undefined {
    return this.#partial;
  }

  /** What comes from now on is thrown away. */
  stop(): void {
    this.#stopped = true;
    this.#partial = undefined;
  }

  /** @throws {Http2Error} what the handler throws, and FRAME_SIZE_ERROR (RFC 9113 section 4.2). */
  receive(chunk: Buffer): void {
    let offset = 0;
    while (offset < chunk.length && !this.#stopped) {
      if (this.#dataLeft > 0) offset = this.#takeData(chunk, offset);
      else if (this.#partial !== undefined) offset = this.#complete(this.#partial, chunk, offset);
      else {
        const end = this.#takeFrame(chunk, offset);
        if (end === offset) {
          this.#hold(chunk, offset);
          return;
        }
        offset = end;
      }
    }
  }

  /** The chunk is overwritten afterwards. */
  #hold(chunk: Buffer, offset: number): void {
    const left = chunk.length - offset;
    const length = left < frameHeadLength ? frameHeadLength : frameHeadLength + payloadLength(chunk, offset);
    this.#partial = Buffer.allocUnsafeSlow(length);
    this.#partialLength = chunk.copy(this.#partial, 0, offset);
  }

  /** @returns where what belongs to the frame ends */
  #complete(partial: Buffer, chunk: Buffer, offset: number): number {
    const taken = chunk.copy(partial, this.#partialLength, offset);
    this.#partialLength += taken;
    if (this.#partialLength < partial.length) return chunk.length;
    // Empty frames, and DATA, are taken at their heads.
    const end = this.#takeFrame(partial, 0);
    if (end === 0) this.#hold(partial, 0);
    else this.#partial = undefined;
    return offset + taken;
  }

  /** @returns where the frame ends, or where it begins if it has not come far enough. */
  #takeFrame(bytes: Buffer, offset: number): number {
    const begin = offset + frameHeadLength;
    if (begin > bytes.length) return offset;
    const length = payloadLength(bytes, offset);
    if (length > this.#maximumFrameSize) {
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

function payloadLength(bytes: Buffer, offset: number): number {
  return (
    ((bytes[offset] as number) << 16) | ((bytes[offset + 1] as number) << 8) | (bytes[offset + 2] as number)
  );
}

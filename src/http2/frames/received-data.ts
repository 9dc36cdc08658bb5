import { errorCode, frameFlag } from './frame.ts';
import { connectionError } from './http2-error.ts';

/** A DATA frame as it arrives: separates its content from its padding (RFC 9113 section 6.1). */
export class ReceivedData {
  readonly streamId: number;
  readonly endStream: boolean;
  /** Bytes of the payload that were not received yet. */
  #left: number;
  /** Bytes of padding after the content; `undefined` until its length byte is received. */
  #padding: number | undefined;
  readonly #length: number;

  /** @param length of the payload in bytes @throws {Http2Error} of scope `connection` */
  constructor(flags: number, streamId: number, length: number) {
    this.streamId = streamId;
    this.endStream = (flags & frameFlag.endStream) !== 0;
    this.#length = length;
    this.#left = length;
    const isPadded = (flags & frameFlag.padded) !== 0;
    if (isPadded && length === 0) throw paddedBeyondEnd();
    this.#padding = isPadded ? undefined : 0;
  }

  /** Whether the frame has padding and no content, once that is known. */
  get isAllPadding(): boolean {
    return this.#length > 0 && this.#padding === this.#length - 1;
  }

  /** @returns the content in this piece. @throws {Http2Error} of scope `connection` */
  contentOf(piece: Buffer): Buffer {
    let start = 0;
    if (this.#padding === undefined) {
      this.#padding = piece[0] as number;
      start = 1;
      if (this.#padding > this.#left - 1) throw paddedBeyondEnd();
    }
    const left = this.#left - piece.length;
    const end = left >= this.#padding ? piece.length : Math.max(start, piece.length - (this.#padding - left));
    this.#left = left;
    return start === 0 && end === piece.length ? piece : piece.subarray(start, end);
  }
}

function paddedBeyondEnd(): Error {
  return connectionError(errorCode.protocolError, 'the padding of DATA exceeds the frame');
}

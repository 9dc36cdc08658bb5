import { errorCode, frameFlag } from './frame.ts';
import { connectionFault } from './http2-error.ts';

/** A DATA frame as its payload comes in: where the padding is, and what is content (RFC 9113 section 6.1). */
export class ReceivedData {
  readonly streamId: number;
  readonly endStream: boolean;
  /** Bytes of the payload that are still to come. */
  #left: number;
  /** Bytes of padding behind the content; `undefined` before the byte that says so. */
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

  /** Whether there is no content between the byte that says how long the padding is, and the padding; once it is known. */
  get isAllPadding(): boolean {
    return this.#length > 0 && this.#padding === this.#length - 1;
  }

  /** @returns what of the piece is content. @throws {Http2Error} of scope `connection` */
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
  return connectionFault(errorCode.protocolError, 'DATA is padded beyond its end');
}

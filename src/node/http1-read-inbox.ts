import type { OnReadOpts } from 'node:net';

/** Node reads 64 KiB at most at a time. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Where the bytes of one connection arrive. All connections share one buffer, for its bytes are dealt with, or
 * copied, before anything else is read.
 */
export class Http1ReadInbox {
  #take: (bytes: Buffer) => void = () => {};

  /** For `node:net`. */
  readonly onread: OnReadOpts = {
    buffer: readBuffer,
    callback: (length) => {
      this.#take(readBuffer.subarray(0, length));
      return true;
    },
  };

  /** @param take gets bytes that are overwritten as soon as it returns. */
  take(take: (bytes: Buffer) => void): void {
    this.#take = take;
  }
}

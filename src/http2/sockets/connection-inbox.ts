import type { OnReadOpts, Socket } from 'node:net';

/** Node reads 64 KiB at most at a time. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Where the bytes of one connection arrive. All connections share one buffer, for its bytes are dealt with, or
 * copied, before anything else is read.
 */
export class ConnectionInbox {
  #take: (bytes: Buffer) => boolean = () => true;

  /** For `node:net`. */
  readonly onread: OnReadOpts = {
    buffer: readBuffer,
    callback: (length) => this.#take(readBuffer.subarray(0, length)),
  };

  /** @param take gets bytes that are overwritten as soon as it returns. */
  take(take: (bytes: Buffer) => void): void {
    this.#take = (bytes) => {
      take(bytes);
      return true;
    };
  }

  /** Makes the socket the stream it is without an inbox, for a library that reads it as one. */
  leaveTo(socket: Socket): void {
    // Held back where the stream is full: its next read starts the socket anew, as it does without an inbox.
    this.#take = (bytes) => socket.push(Buffer.from(bytes));
  }
}

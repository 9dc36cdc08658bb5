import type { OnReadOpts, Socket } from 'node:net';

/** Node reads 64 KiB at most at a time. */
const readBuffer = Buffer.allocUnsafeSlow(64 * 1024);

/**
 * Receives the bytes of one connection. All connections share one buffer: its bytes are handled or copied before anything
 * else is read.
 */
export class ConnectionInbox {
  #take: (bytes: Buffer) => boolean = () => true;

  /** The option of `node:net`. */
  readonly onread: OnReadOpts = {
    buffer: readBuffer,
    callback: (length) => this.#take(readBuffer.subarray(0, length)),
  };

  /** @param take is called with bytes that are overwritten as soon as it returns */
  take(take: (bytes: Buffer) => void): void {
    this.#take = (bytes) => {
      take(bytes);
      return true;
    };
  }

  /** Makes the socket an ordinary stream again, for a library that reads it as one. */
  leaveTo(socket: Socket): void {
    // `push` returns false if the stream is full; its next read starts the socket again.
    this.#take = (bytes) => socket.push(Buffer.from(bytes));
  }
}

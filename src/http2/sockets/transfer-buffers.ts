/** Bytes of one buffer: two reads from a connection at their largest (`connection-inbox.ts`), eight TLS records. */
export const transferBufferBytes = 128 * 1024;

/**
 * Bytes of a small one: the answers and events that most turns of the event loop bring one connection. Thousands of
 * connections may have an event each in one turn, and a large buffer for every one would be a gigabyte.
 */
export const smallBufferBytes = 4 * 1024;

/**
 * Buffers in which answers are gathered on their way through. A fresh one for each piece of 16 KB is garbage that
 * V8 counts but slowly: a fifth of the CPU of large lists went into collecting it.
 */
export class TransferBuffers {
  readonly #bytes: number;
  readonly #maximumFree: number;
  readonly #free: Buffer[] = [];

  /**
   * @param bytes of each of them
   * @param maximumFree that stay with the process: beyond, a buffer is garbage when it is given back
   */
  constructor(bytes: number, maximumFree: number) {
    this.#bytes = bytes;
    this.#maximumFree = maximumFree;
  }

  /** @returns a buffer that still holds what somebody else was sent: only what is written to it may be read. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytes);
  }

  /** @param buffer that nobody reads any more, operating system included. */
  giveBack(buffer: Buffer): void {
    if (this.#free.length < this.#maximumFree) this.#free.push(buffer);
  }
}

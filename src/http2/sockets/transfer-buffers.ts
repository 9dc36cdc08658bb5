/** Bytes of one buffer: two reads from a connection at their largest (`connection-inbox.ts`), eight TLS records. */
export const transferBufferBytes = 128 * 1024;

/**
 * Bytes of a small buffer: enough for the responses and events of most turns of the event loop. Thousands of connections
 * may have an event in one turn, and a large buffer for each would take a gigabyte.
 */
export const smallBufferBytes = 4 * 1024;

/**
 * A pool of buffers for responses on their way to clients. With a new buffer for each piece of 16 KiB, garbage collection
 * took a fifth of the CPU of large lists.
 */
export class TransferBuffers {
  readonly #bytes: number;
  readonly #maximumFree: number;
  readonly #free: Buffer[] = [];

  /**
   * @param bytes of each of them
   * @param maximumFree unused buffers that are kept
   */
  constructor(bytes: number, maximumFree: number) {
    this.#bytes = bytes;
    this.#maximumFree = maximumFree;
  }

  /** @returns a buffer with the data of another response: only what was written since may be read */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#bytes);
  }

  /** @param buffer that nothing reads any more, the operating system included */
  release(buffer: Buffer): void {
    if (this.#free.length < this.#maximumFree) this.#free.push(buffer);
  }
}

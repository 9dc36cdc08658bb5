/** Bytes of one buffer: two reads from a connection at their largest (`connection-inbox.ts`), eight TLS records. */
export const transferBufferBytes = 128 * 1024;

/** 8 MiB that stay with the process; beyond, a buffer is garbage when it is given back. */
const maximumFree = 64;

/**
 * Buffers in which large answers are gathered on their way through. A fresh one for each piece of 16 KB is garbage that
 * V8 counts but slowly: a fifth of the CPU of large lists went into collecting it.
 */
export class TransferBuffers {
  readonly #free: Buffer[] = [];

  /** @returns a buffer that still holds what somebody else was sent: only what is written to it may be read. */
  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(transferBufferBytes);
  }

  /** @param buffer that nobody reads any more, operating system included. */
  giveBack(buffer: Buffer): void {
    if (this.#free.length < maximumFree) this.#free.push(buffer);
  }
}

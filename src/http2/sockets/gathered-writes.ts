import type { HeldBytes } from './held-bytes.ts';

/** Bytes of one buffer: two reads from a connection at their largest (`client-session.ts`), eight TLS records. */
export const transferBufferBytes = 128 * 1024;

/**
 * Bytes of a small buffer: enough for the responses and events of most turns of the event loop. Thousands of connections
 * may have an event in one turn, and a large buffer for each would take a gigabyte.
 */
const smallBufferBytes = 4 * 1024;

/**
 * A pool of buffers for responses on their way to clients. With a new buffer for each piece of 16 KiB, garbage collection
 * took a fifth of the CPU of large lists.
 */
export class TransferBuffers {
  readonly #bytes: number;
  readonly #maximumFree: number;
  readonly #free: Buffer[] = [];

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

export interface PieceWriter {
  write(chunk: Uint8Array, onWritten?: (error?: Error | null) => void): boolean;
}

/** 8 and 4 MiB for the whole process. */
const largeBuffers = new TransferBuffers(transferBufferBytes, 64);
const smallBuffers = new TransferBuffers(smallBufferBytes, 1_024);

/** With this many bytes gathered during a write the writer must wait. */
const needsDrainFrom = transferBufferBytes / 2;

/**
 * Gathers small writes into few large ones, in buffers that are reused: what is added in one turn of the event loop, or
 * during a write, is written in one piece. TLS delivers what a server sends in records of 16 KiB. For a client that is
 * slower than its server two buffers are used.
 */
export class GatheredWrites {
  readonly #writable: PieceWriter;
  readonly #onRoom: () => void;
  readonly #held: HeldBytes | undefined;
  #buffer: Buffer | undefined;
  #length = 0;
  #underWay = 0;
  #isDue = false;
  #needsDrain = false;

  constructor(writable: PieceWriter, onRoom: () => void, held?: HeldBytes) {
    this.#writable = writable;
    this.#onRoom = onRoom;
    this.#held = held;
  }

  /**
   * @param chunk copied
   * @returns false when the client is slower: wait for `onRoom`. More that is added is kept nevertheless.
   */
  add(chunk: Uint8Array): boolean {
    let offset = 0;
    while (offset < chunk.length) {
      const buffer = this.#bufferFor(chunk.length - offset);
      const end = Math.min(chunk.length, offset + buffer.length - this.#length);
      buffer.set(offset === 0 && end === chunk.length ? chunk : chunk.subarray(offset, end), this.#length);
      this.#grow(end - offset);
      offset = end;
    }
    return this.#added();
  }

  addText(text: string): boolean {
    let offset = 0;
    while (offset < text.length) {
      const buffer = this.#bufferFor(text.length - offset);
      const end = Math.min(text.length, offset + buffer.length - this.#length);
      buffer.write(
        offset === 0 && end === text.length ? text : text.slice(offset, end),
        this.#length,
        'latin1',
      );
      this.#grow(end - offset);
      offset = end;
    }
    return this.#added();
  }

  get needsDrain(): boolean {
    return this.#needsDrain;
  }

  #bufferFor(bytes: number): Buffer {
    const buffer = this.#buffer;
    const isSmall = this.#length + bytes <= smallBufferBytes;
    if (buffer === undefined) {
      const first = (isSmall ? smallBuffers : largeBuffers).take();
      this.#held?.add(first.length);
      this.#buffer = first;
      return first;
    }
    if (isSmall || buffer.length > smallBufferBytes) return buffer;
    const larger = largeBuffers.take();
    this.#held?.add(larger.length - buffer.length);
    larger.set(buffer.subarray(0, this.#length));
    smallBuffers.release(buffer);
    this.#buffer = larger;
    return larger;
  }

  #grow(bytes: number): void {
    this.#length += bytes;
    if (this.#length === transferBufferBytes) this.flush();
  }

  #added(): boolean {
    if (this.#underWay === 0 && !this.#isDue) {
      this.#isDue = true;
      setImmediate(endTurn, this);
    }
    // Never reset here: a caller that was told to wait must get its `onRoom`, even if it adds another piece first.
    this.#needsDrain ||= this.#underWay > 1 || (this.#underWay === 1 && this.#length >= needsDrainFrom);
    return !this.#needsDrain;
  }

  turnEnded(): void {
    this.#isDue = false;
    if (this.#underWay === 0) this.flush();
  }

  flush(): void {
    const buffer = this.#buffer;
    if (buffer === undefined) return;
    const bytes = buffer.subarray(0, this.#length);
    this.#buffer = undefined;
    this.#length = 0;
    this.#underWay++;
    this.#writable.write(bytes, (error) => {
      // After a failed write the system may still read the buffer: it is not reused.
      if (error === undefined || error === null) this.#written(buffer);
    });
  }

  #written(buffer: Buffer): void {
    this.#held?.add(-buffer.length);
    (buffer.length > smallBufferBytes ? largeBuffers : smallBuffers).release(buffer);
    this.#underWay--;
    if (this.#underWay > 0) return;
    this.flush();
    if (!this.#needsDrain) return;
    this.#needsDrain = false;
    this.#onRoom();
  }
}

function endTurn(writes: GatheredWrites): void {
  writes.turnEnded();
}

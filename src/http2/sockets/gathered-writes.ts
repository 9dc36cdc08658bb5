import { smallBufferBytes, TransferBuffers, transferBufferBytes } from './transfer-buffers.ts';

/** What takes pieces, and says when one may be overwritten; every `Writable` is one. */
export interface PieceWriter {
  /** @returns false when the client is slower: hold until 'drain'. */
  write(chunk: Uint8Array, onWritten?: (error?: Error | null) => void): boolean;
}

/** 8 and 4 MiB that stay with the process. */
const largeBuffers = new TransferBuffers(transferBufferBytes, 64);
const smallBuffers = new TransferBuffers(smallBufferBytes, 1_024);

/** Bytes gathered behind a write that is under way from which on the writer is held. */
const heldFrom = transferBufferBytes / 2;

/**
 * Writes what it is given in few and large pieces, out of buffers that are used again: what comes in one turn of the
 * event loop, and what comes while a write is under way, in one piece. TLS hands over what a server has sent record by
 * record, 16 KiB at a time. A client that is slower than its server makes the router hold two buffers.
 */
export class GatheredWrites {
  readonly #writable: PieceWriter;
  readonly #onRoom: () => void;
  #buffer: Buffer | undefined;
  #length = 0;
  #underWay = 0;
  #isDue = false;
  #isHeld = false;

  /** @param onRoom called when the writer may go on after it was held. */
  constructor(writable: PieceWriter, onRoom: () => void) {
    this.#writable = writable;
    this.#onRoom = onRoom;
  }

  /**
   * @param chunk copied: it may be overwritten afterwards.
   * @returns false when the client is slower: hold until `onRoom`. What still comes is taken nevertheless.
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

  /** As `add`. @param text a byte string */
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

  /** Whether whoever adds is to wait for `onRoom`. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** @returns one with room for so many bytes more, or as many as fit at all. */
  #bufferFor(bytes: number): Buffer {
    const buffer = this.#buffer;
    const isSmall = this.#length + bytes <= smallBufferBytes;
    if (buffer === undefined) {
      this.#buffer = (isSmall ? smallBuffers : largeBuffers).take();
      return this.#buffer;
    }
    if (isSmall || buffer.length > smallBufferBytes) return buffer;
    const larger = largeBuffers.take();
    larger.set(buffer.subarray(0, this.#length));
    smallBuffers.giveBack(buffer);
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
    // Whoever was held waits for `onRoom`: a piece that still comes, with room again, must not cancel the call.
    this.#isHeld ||= this.#underWay > 1 || (this.#underWay === 1 && this.#length >= heldFrom);
    return !this.#isHeld;
  }

  /** Nothing more comes in this turn of the event loop. */
  turnEnded(): void {
    this.#isDue = false;
    if (this.#underWay === 0) this.flush();
  }

  /** Hands over what has been gathered, as is due before the end. */
  flush(): void {
    const buffer = this.#buffer;
    if (buffer === undefined) return;
    const bytes = buffer.subarray(0, this.#length);
    this.#buffer = undefined;
    this.#length = 0;
    this.#underWay++;
    this.#writable.write(bytes, (error) => {
      // Whether a write that has failed is done with its bytes nobody says, and the next answer must not get there.
      if (error === undefined || error === null) this.#written(buffer);
    });
  }

  #written(buffer: Buffer): void {
    (buffer.length > smallBufferBytes ? largeBuffers : smallBuffers).giveBack(buffer);
    this.#underWay--;
    if (this.#underWay > 0) return;
    this.flush();
    if (!this.#isHeld) return;
    this.#isHeld = false;
    this.#onRoom();
  }
}

function endTurn(writes: GatheredWrites): void {
  writes.turnEnded();
}

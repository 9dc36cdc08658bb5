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

/** Milliseconds without a write after which the next input counts as the only one of its turn of the event loop. */
const quietFrom = 0.1;

let inputs = 0;
let isAlone = false;
let lastWrite = 0;
const dueAfterInput: GatheredWrites[] = [];

/**
 * Handles what one read brought. Under load a turn of the event loop has many reads, and what they add is written at its
 * end, in one piece. A read that comes alone has nothing to wait for: what it adds is written as soon as it is handled,
 * which saves a lone request two turns of the loop.
 */
export function handleInput<Input>(handle: (input: Input) => void, input: Input): void {
  if (inputs === 0) isAlone = performance.now() - lastWrite > quietFrom;
  inputs++;
  try {
    handle(input);
  } finally {
    inputs--;
    if (inputs === 0) endInput();
  }
}

function endInput(): void {
  let writes = dueAfterInput.pop();
  while (writes !== undefined) {
    writes.inputEnded();
    writes = dueAfterInput.pop();
  }
}

/**
 * Gathers small writes into few large ones, in buffers that are reused: what is added in one turn of the event loop
 * (`handleInput`), or during a write, is written in one piece. TLS delivers what a server sends in records of 16 KiB. For
 * a client that is slower than its server two buffers are used.
 */
export class GatheredWrites {
  readonly #writable: PieceWriter;
  readonly #onRoom: () => void;
  readonly #held: HeldBytes | undefined;
  #buffer: Buffer | undefined;
  #length = 0;
  #underWay = 0;
  #isDue = false;
  #isDueAfterInput = false;
  needsDrain = false;

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
    return this.#added(true);
  }

  /** @param isWhole false: more of it comes in a moment, and need not wait for a turn of its own */
  addText(text: string, isWhole = true): boolean {
    this.#copyText(text);
    return this.#added(isWhole);
  }

  addFrame(head: string, content: Uint8Array): boolean {
    this.#copyText(head);
    return this.add(content);
  }

  #copyText(text: string): void {
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

  #added(isWhole: boolean): boolean {
    if (this.#underWay === 0) {
      // Behind a record full of content there is mostly another one.
      if (isWhole && inputs > 0 && isAlone && this.#length <= smallBufferBytes) this.#writeAfterInput();
      else if (!this.#isDue) {
        this.#isDue = true;
        setImmediate(endTurn, this);
      }
    }
    // Never reset here: a caller that was told to wait must get its `onRoom`, even if it adds another piece first.
    this.needsDrain ||= this.#underWay > 1 || (this.#underWay === 1 && this.#length >= needsDrainFrom);
    return !this.needsDrain;
  }

  #writeAfterInput(): void {
    if (this.#isDueAfterInput) return;
    this.#isDueAfterInput = true;
    dueAfterInput.push(this);
  }

  inputEnded(): void {
    this.#isDueAfterInput = false;
    if (this.#underWay === 0) this.flush();
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
    lastWrite = performance.now();
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
    if (!this.needsDrain) return;
    this.needsDrain = false;
    this.#onRoom();
  }
}

function endTurn(writes: GatheredWrites): void {
  writes.turnEnded();
}

import { TransferBuffers } from '../sockets/gathered-writes.ts';
import { connectionError, errorCode, maximumWindow } from './frame.ts';

/** How many bytes we may still send (RFC 9113 section 6.9). Negative after the peer reduced its window size. */
export class SendWindow {
  left: number;

  constructor(size: number) {
    this.left = size;
  }

  /** @returns false if the window exceeds its maximum (RFC 9113 section 6.9.1) */
  widen(bytes: number): boolean {
    this.left += bytes;
    return this.left <= maximumWindow;
  }

  widenOrThrow(bytes: number): void {
    if (!this.widen(bytes)) throw connectionError(errorCode.flowControlError, 'a window becomes too large');
  }
}

export interface WindowGrowth {
  readonly maximum: number;
  hasRoomFor(bytes: number): boolean;
}

/** Milliseconds. A window of which half is taken in less is too small for its reader. */
const quickly = 100;

/**
 * How many bytes the peer may still send. Consumed bytes are granted again, half a window at a time. A window grows while
 * its reader takes them quickly: what the peer may send ahead has to be held if the reader stops.
 */
export class ReceiveWindow {
  #size: number;
  readonly #growth: WindowGrowth | undefined;
  left: number;
  #consumed = 0;
  #grantedAt = 0;

  constructor(size: number, growth?: WindowGrowth) {
    this.#size = size;
    this.#growth = growth;
    this.left = size;
  }

  take(bytes: number): boolean {
    this.left -= bytes;
    return this.left >= 0;
  }

  release(bytes: number): number {
    this.#consumed += bytes;
    if (2 * this.#consumed < this.#size) return 0;
    const granted = this.#consumed + this.#grow();
    this.#consumed = 0;
    this.left += granted;
    return granted;
  }

  #grow(): number {
    const growth = this.#growth;
    if (growth === undefined || this.#size >= growth.maximum) return 0;
    const before = this.#grantedAt;
    this.#grantedAt = performance.now();
    const more = Math.min(this.#size, growth.maximum - this.#size);
    if (this.#grantedAt - before > quickly || !growth.hasRoomFor(more)) return 0;
    this.#size += more;
    return more;
  }
}

/** Bytes of a block. DATA frames may have one byte each, so pieces share a block instead of having an object each. */
const blockLength = 16 * 1024;
/** A first piece below this size gets a buffer of its own size: most streams queue nothing else. */
const blockFrom = 4 * 1024;

/** 4 MiB for the whole process. */
const reusedBlocks = new TransferBuffers(blockLength, 256);

interface Block {
  readonly bytes: Buffer;
  begin: number;
  end: number;
}

/**
 * Bytes that wait for a slow reader, in order. What `take` returns is either the caller's own, or lent until `release`.
 * Lent blocks are reused: with a new block for each piece of a long response V8 collects garbage by the megabyte.
 */
export class PieceQueue {
  readonly #isReused: boolean;
  #blocks: Block[] = [];
  #taken: Block | undefined;

  /** @param use whether `take` returns bytes that are the caller's own, or lent until `release` or `putBack` */
  constructor(use: 'own' | 'lent' = 'own') {
    this.#isReused = use === 'lent';
  }

  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  /** @param piece copied */
  add(piece: Uint8Array): void {
    let last = this.#blocks.at(-1);
    if (last === undefined || last.bytes.length - last.end < piece.length) {
      const isShort = last === undefined && (piece.length < blockFrom || !this.#isReused);
      last = {
        bytes: this.#newBlock(isShort ? piece.length : Math.max(piece.length, blockLength)),
        begin: 0,
        end: 0,
      };
      this.#blocks.push(last);
    }
    last.bytes.set(piece, last.end);
    last.end += piece.length;
  }

  #newBlock(bytes: number): Buffer {
    return this.#isReused && bytes === blockLength ? reusedBlocks.take() : Buffer.allocUnsafeSlow(bytes);
  }

  take(): Buffer | undefined {
    const block = this.#blocks.shift();
    this.#taken = block;
    return block?.bytes.subarray(block.begin, block.end);
  }

  release(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    if (this.#isReused && taken?.bytes.length === blockLength) reusedBlocks.release(taken.bytes);
  }

  /** Returns the end of what `take` returned last to the queue. @param bytes of it */
  putBack(bytes: number): void {
    const taken = this.#taken;
    this.#taken = undefined;
    if (taken === undefined) return;
    taken.begin = taken.end - bytes;
    this.#blocks.unshift(taken);
  }

  /** Drops everything. Blocks are not reused: they may still be read. */
  clear(): void {
    this.#blocks = [];
    this.#taken = undefined;
  }
}

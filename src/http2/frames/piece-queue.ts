import { TransferBuffers } from '../sockets/gathered-writes.ts';

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

  /** Removes the next bytes. @returns `undefined` if there are none */
  take(): Buffer | undefined {
    const block = this.#blocks.shift();
    this.#taken = block;
    return block?.bytes.subarray(block.begin, block.end);
  }

  /** What `take` returned last is not read any more. */
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

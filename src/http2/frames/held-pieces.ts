import { TransferBuffers } from '../sockets/transfer-buffers.ts';

/** Bytes of a block. A piece may be a single byte (DATA frames may be as small), and an object each would be dear. */
const blockLength = 16 * 1024;
/** Bytes of a first piece from which on it has a block: below, most streams that hold one hold nothing else. */
const blockFrom = 4 * 1024;

/** 4 MiB that stay with the process. */
const reusedBlocks = new TransferBuffers(blockLength, 256);

interface Block {
  readonly bytes: Buffer;
  /** Of what has not been taken. */
  begin: number;
  end: number;
}

/**
 * Bytes that wait for a slow reader, in order. What is taken is the taker's own, or lent until it is given back: a fresh
 * block for each piece of a long answer is garbage that V8 collects when a slow reader has made megabytes of it.
 */
export class HeldPieces {
  readonly #isReused: boolean;
  #blocks: Block[] = [];
  #taken: Block | undefined;

  /** @param use whether what is taken is the taker's own, or lent up to `giveBack` or `putBack` */
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
      // The first is mostly the only one.
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

  /** @returns the next bytes, taken out; `undefined` when there are none. */
  take(): Buffer | undefined {
    const block = this.#blocks.shift();
    this.#taken = block;
    return block?.bytes.subarray(block.begin, block.end);
  }

  /** Nobody reads any more what `take` returned last. */
  giveBack(): void {
    const taken = this.#taken;
    this.#taken = undefined;
    if (this.#isReused && taken?.bytes.length === blockLength) reusedBlocks.giveBack(taken.bytes);
  }

  /** @param bytes of what `take` returned last that are still to be taken, to its end */
  putBack(bytes: number): void {
    const taken = this.#taken;
    this.#taken = undefined;
    if (taken === undefined) return;
    taken.begin = taken.end - bytes;
    this.#blocks.unshift(taken);
  }

  /** What is held, or taken, may still be being read: it is left to V8. */
  clear(): void {
    this.#blocks = [];
    this.#taken = undefined;
  }
}

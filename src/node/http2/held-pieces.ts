/** Bytes of a block. A piece may be a single byte (DATA frames may be as small), and an object each would be dear. */
const blockLength = 16 * 1024;

interface Block {
  readonly bytes: Buffer;
  length: number;
}

/** Bytes that wait for a slow reader, in order. */
export class HeldPieces {
  #blocks: Block[] = [];

  get isEmpty(): boolean {
    return this.#blocks.length === 0;
  }

  /** @param piece copied */
  add(piece: Uint8Array): void {
    let last = this.#blocks.at(-1);
    if (last === undefined || last.bytes.length - last.length < piece.length) {
      // The first is mostly the only one.
      const size = last === undefined ? piece.length : Math.max(piece.length, blockLength);
      last = { bytes: Buffer.allocUnsafeSlow(size), length: 0 };
      this.#blocks.push(last);
    }
    last.bytes.set(piece, last.length);
    last.length += piece.length;
  }

  /** @returns the next bytes, taken out; `undefined` when there are none. */
  take(): Buffer | undefined {
    const block = this.#blocks.shift();
    return block?.bytes.subarray(0, block.length);
  }

  /** @param bytes of which `take` was the last call, or what is left of them; not copied */
  putBack(bytes: Buffer): void {
    this.#blocks.unshift({ bytes, length: bytes.length });
  }

  clear(): void {
    this.#blocks = [];
  }
}

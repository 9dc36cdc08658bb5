import { DynamicTable, defaultTableSize } from './dynamic-table.ts';
import { decodeHuffman, maximumDecodedLength } from './huffman-code.ts';
import { staticTable, staticTableLength } from './static-table.ts';

/** The block cannot be read, and with it no later one of the connection (RFC 9113 section 4.3). */
export class HpackError extends Error {
  override readonly name = 'HpackError';
}

export interface HeaderLimits {
  readonly maximumLines: number;
  /** Bytes, each line with 32 more (RFC 9113 section 6.5.2). */
  readonly maximumSize: number;
  /** Bytes of a block as it is coded, beyond which the connection ends. Default: `maximumSize`. */
  readonly maximumBlock?: number;
}

export interface DecodedHeaders {
  /** Name, value, name, value, … as byte strings; a part only where they exceed a limit. */
  readonly lines: string[];
  readonly exceedLimits: boolean;
}

const lineOverhead = 32;
/** How often the limit of lines a block may have that is read for the sake of the next ones. */
const excess = 4;
/** Seven bits a byte: more than any length or index that can be meant. */
const maximumIntegerBits = 28;

/**
 * Reads the header blocks of one connection (RFC 7541). What exceeds the limits is still read, for what comes behind
 * it refers to it, but not kept: a few bytes can name kilobytes.
 */
export class HeaderDecoder {
  readonly #limits: HeaderLimits;
  readonly #dynamic = new DynamicTable();
  #block: Buffer = Buffer.alloc(0);
  #offset = 0;

  constructor(limits: HeaderLimits) {
    this.#limits = limits;
  }

  /** @throws {HpackError} after which the connection is of no use. */
  decode(block: Buffer): DecodedHeaders {
    this.#block = block;
    this.#offset = 0;
    try {
      return this.#readLines(block);
    } finally {
      this.#block = noBytes;
    }
  }

  #readLines(block: Buffer): DecodedHeaders {
    const { maximumLines, maximumSize } = this.#limits;
    const lines: string[] = [];
    let size = 0;
    let exceedLimits = false;
    let mayResize = true;
    let count = 0;
    const most = excess * maximumLines;
    while (this.#offset < block.length) {
      const first = block[this.#offset] as number;
      // A dynamic table size update stands at the beginning of a block only (RFC 7541 section 4.2).
      if ((first & 0xe0) === 0x20) {
        if (!mayResize) throw new HpackError('a table size update stands behind a header line');
        this.#resize();
        continue;
      }
      mayResize = false;
      if (++count > most) throw new HpackError('a block has far more lines than are taken');
      let name: string;
      let value: string;
      if ((first & 0x80) !== 0) {
        const index = this.#integer(7);
        name = this.#nameAt(index);
        value = this.#valueAt(index);
      } else {
        const isIndexed = (first & 0x40) !== 0;
        const index = this.#integer(isIndexed ? 6 : 4);
        name = index === 0 ? this.#string() : this.#nameAt(index);
        value = this.#string();
        if (isIndexed) this.#dynamic.add(name, value);
      }
      if (exceedLimits) continue;
      size += name.length + value.length + lineOverhead;
      exceedLimits = size > maximumSize || lines.length >= 2 * maximumLines;
      if (!exceedLimits) lines.push(name, value);
    }
    return { lines, exceedLimits };
  }

  #resize(): void {
    const size = this.#integer(5);
    // What we have announced is the default: nothing.
    if (size > defaultTableSize) throw new HpackError('a table size update exceeds what was allowed');
    this.#dynamic.resize(size);
  }

  #nameAt(index: number): string {
    if (index > staticTableLength) return this.#dynamic.name(this.#dynamicIndex(index));
    return staticTable[2 * index - 2] ?? unknownIndex();
  }

  #valueAt(index: number): string {
    if (index > staticTableLength) return this.#dynamic.value(this.#dynamicIndex(index));
    return staticTable[2 * index - 1] ?? unknownIndex();
  }

  #dynamicIndex(index: number): number {
    const dynamicIndex = index - staticTableLength - 1;
    return dynamicIndex < this.#dynamic.length ? dynamicIndex : unknownIndex();
  }

  /** RFC 7541 section 5.1. */
  #integer(prefixBits: number): number {
    const mask = (1 << prefixBits) - 1;
    let value = this.#byte() & mask;
    if (value < mask) return value;
    for (let shift = 0; ; shift += 7) {
      if (shift >= maximumIntegerBits) throw new HpackError('an integer is too large');
      const byte = this.#byte();
      value += (byte & 0x7f) << shift;
      if ((byte & 0x80) === 0) return value;
    }
  }

  /** RFC 7541 section 5.2. */
  #string(): string {
    const isHuffman = ((this.#block[this.#offset] ?? 0) & 0x80) !== 0;
    const length = this.#integer(7);
    const start = this.#offset;
    const end = start + length;
    if (end > this.#block.length) throw new HpackError('a string reaches beyond its block');
    this.#offset = end;
    if (!isHuffman) return this.#block.toString('latin1', start, end);
    const needed = maximumDecodedLength(length);
    const into = needed <= scratch.length ? scratch : Buffer.allocUnsafeSlow(needed);
    const decoded = decodeHuffman(this.#block, start, end, into);
    if (decoded < 0) throw new HpackError('a Huffman code is faulty');
    return into.toString('latin1', 0, decoded);
  }

  #byte(): number {
    const byte = this.#block[this.#offset++];
    if (byte === undefined) throw new HpackError('the block ends within a header line');
    return byte;
  }
}

const noBytes = Buffer.alloc(0);
/** One for all: a string is made of it before anything else is decoded. */
const scratch = Buffer.allocUnsafeSlow(8 * 1024);

function unknownIndex(): never {
  throw new HpackError('an index stands for nothing');
}

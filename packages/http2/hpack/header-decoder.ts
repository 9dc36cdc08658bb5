import { staticTable, staticTableLength } from './static-table.ts';

/**
 * Bits of each byte's Huffman code, and of EOS as the last (RFC 7541 appendix B). That is all of the code: it is
 * canonical, codes of one length ascend with the byte, and shorter ones come first.
 */
const codeLengths: readonly number[] = [
  13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28,
  28, 28, 28, 28, 28, 6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6, 5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7,
  8, 15, 6, 12, 10, 13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19,
  13, 14, 6, 15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5, 6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13,
  28, 20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23, 24, 24, 22, 23, 24, 23, 23, 23, 23, 21,
  22, 23, 22, 23, 23, 24, 22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23, 21, 21, 22, 21, 23,
  22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23, 26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
  19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27, 20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25,
  25, 24, 24, 26, 23, 26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26, 30,
];

/** The symbol that ends nothing: it must not stand in a string (RFC 7541 section 5.2). */
const endOfString = 256;

/** In order of their codes. */
const symbols = Uint16Array.from(
  [...codeLengths.keys()].sort(
    (one, other) => (codeLengths[one] as number) - (codeLengths[other] as number) || one - other,
  ),
);
/** By the length of a code: 32 bits that begin with one of it, or with a shorter one, are less than this. */
const below = new Float64Array(31);
/** By the length of a code: its place in `symbols` is its value plus this. */
const offsets = new Int32Array(31);
for (let bits = 1, code = 0, place = 0; bits <= 30; bits++) {
  const count = codeLengths.filter((length) => length === bits).length;
  offsets[bits] = place - 2 * code;
  code = 2 * code + count;
  place += count;
  below[bits] = code * 2 ** (32 - bits);
}
/** By the first byte of 32 bits: the least length of the code that they begin with. */
const shortest = Uint8Array.from({ length: 256 }, (_, byte) =>
  below.findIndex((limit) => byte * 2 ** 24 < limit),
);

/**
 * Takes the Huffman coding off `bytes` from `start` to `end`.
 * @param into must hold eight fifths of them.
 * @returns how many bytes were written to `into`, or -1 where the code is invalid.
 */
export function decodeHuffman(bytes: Uint8Array, start: number, end: number, into: Uint8Array): number {
  let length = 0;
  let place = start;
  let read = 0;
  let available = 0;
  for (;;) {
    while (available <= 24) {
      read |= byteBefore(end, bytes, place++) << (24 - available);
      available += 8;
    }
    const left = 8 * (end - place) + available;
    if (left <= 0) return left === 0 ? length : -1;
    const window = (read | (byteBefore(end, bytes, place) >> (available - 24))) >>> 0;
    let bits = shortest[window >>> 24] as number;
    while (window >= (below[bits] as number)) bits++;
    const symbol = symbols[(window >>> (32 - bits)) + (offsets[bits] as number)] as number;
    if (symbol === endOfString) return left < 8 ? length : -1;
    into[length++] = symbol;
    read <<= bits;
    available -= bits;
  }
}

/** Behind the end come ones, of which padding consists, and EOS. */
function byteBefore(end: number, bytes: Uint8Array, place: number): number {
  return place < end ? (bytes[place] as number) : 0xff;
}

/** The largest length of a string of so many bytes when decoded: the shortest codes have five bits. */
export function maximumDecodedLength(encodedLength: number): number {
  return Math.ceil((encodedLength * 8) / 5);
}

/** The block cannot be decoded, nor any later one of the connection (RFC 9113 section 4.3). */
export class HpackError extends Error {
  override readonly name = 'HpackError';
}

export interface HeaderLimits {
  readonly maximumLines: number;
  /** Bytes, with 32 more for each line (RFC 9113 section 6.5.2). */
  readonly maximumSize: number;
  /** Bytes of an encoded block; beyond, the connection ends. Default: `maximumSize`. */
  readonly maximumBlock?: number;
}

export interface DecodedHeaders {
  /** Name, value, name, value, … as byte strings; only the first ones if a limit is exceeded. */
  readonly lines: string[];
  readonly exceedLimits: boolean;
}

const lineOverhead = 32;
/** A block with this many times the limit of lines is still decoded, because later blocks depend on it. */
const excess = 4;
const maximumIntegerBits = 28;

/**
 * Decodes the header blocks of one connection (RFC 7541). Lines beyond the limits are decoded, because later ones may
 * refer to them, but not returned: a few bytes can stand for kilobytes.
 */
export class HeaderDecoder {
  readonly #limits: HeaderLimits;
  readonly #dynamic = new DynamicTable();
  #block: Buffer = Buffer.alloc(0);
  #offset = 0;

  constructor(limits: HeaderLimits) {
    this.#limits = limits;
  }

  /** @throws {HpackError} after which no more blocks of the connection can be decoded */
  decode(block: Buffer): DecodedHeaders {
    this.#block = block;
    this.#offset = 0;
    const { maximumLines, maximumSize } = this.#limits;
    let length = 0;
    let size = 0;
    let exceedLimits = false;
    let mayResize = true;
    let count = 0;
    const most = excess * maximumLines;
    try {
      while (this.#offset < block.length) {
        const first = block[this.#offset] as number;
        // A dynamic table size update is only allowed at the beginning of a block (RFC 7541 section 4.2).
        if ((first & 0xe0) === 0x20) {
          if (!mayResize) throw new HpackError('a table size update comes after a header line');
          this.#resize();
          continue;
        }
        mayResize = false;
        if (++count > most) throw new HpackError('a block has far too many lines');
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
        exceedLimits = size > maximumSize || length >= 2 * maximumLines;
        if (exceedLimits) continue;
        collected[length++] = name;
        collected[length++] = value;
      }
      return { lines: collected.slice(0, length), exceedLimits };
    } finally {
      this.#block = noBytes;
      // No line is kept for longer than its head, and no large array.
      if (length > maximumCollected) collected = [];
      else collected.fill('', 0, length);
    }
  }

  #resize(): void {
    const size = this.#integer(5);
    if (size > defaultTableSize) throw new HpackError('a table size update is too large');
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
    if (end > this.#block.length) throw new HpackError('a string exceeds its block');
    this.#offset = end;
    if (!isHuffman) return this.#block.toString('latin1', start, end);
    const needed = maximumDecodedLength(length);
    const into = needed <= scratch.length ? scratch : Buffer.allocUnsafeSlow(needed);
    const decoded = decodeHuffman(this.#block, start, end, into);
    if (decoded < 0) throw new HpackError('a Huffman code is invalid');
    return into.toString('latin1', 0, decoded);
  }

  #byte(): number {
    const byte = this.#block[this.#offset++];
    if (byte === undefined) throw new HpackError('the block ends within a header line');
    return byte;
  }
}

const noBytes = Buffer.alloc(0);
/** Shared: an array that grows line by line would be copied several times for each block. */
let collected: string[] = [];
const maximumCollected = 256;
/** Shared: it is converted to a string before anything else is decoded. */
const scratch = Buffer.allocUnsafeSlow(8 * 1024);

function unknownIndex(): never {
  throw new HpackError('an index is invalid');
}

/** Bytes that each entry counts in addition to its own (RFC 7541 section 4.1). */
const entryOverhead = 32;

/** Evicted strings at which the array is compacted: as many as the largest table holds. */
const sweptFrom = 256;

/** Bytes (RFC 9113 section 6.5.2). */
export const defaultTableSize = 4_096;

/** The dynamic table of a decoder (RFC 7541 section 2.3.2). */
export class DynamicTable {
  /** Name, value, name, value, …; the newest last, evicted ones first. */
  #lines: string[] = [];
  #first = 0;
  /** Bytes, as RFC 7541 section 4.1 counts them. */
  #size = 0;
  #maximumSize = defaultTableSize;

  get length(): number {
    return (this.#lines.length - this.#first) / 2;
  }

  /** @param index from 0, which is the newest; below `length`. */
  name(index: number): string {
    return this.#lines[this.#lines.length - 2 * index - 2] as string;
  }

  value(index: number): string {
    return this.#lines[this.#lines.length - 2 * index - 1] as string;
  }

  /** An entry larger than the table empties it (RFC 7541 section 4.4). */
  add(name: string, value: string): void {
    const size = name.length + value.length + entryOverhead;
    this.#shrinkTo(this.#maximumSize - size);
    if (size > this.#maximumSize) return;
    this.#lines.push(name, value);
    this.#size += size;
  }

  resize(size: number): void {
    this.#maximumSize = size;
    this.#shrinkTo(size);
  }

  #shrinkTo(size: number): void {
    while (this.#size > size && this.#first < this.#lines.length) {
      const name = this.#lines[this.#first] as string;
      const value = this.#lines[this.#first + 1] as string;
      this.#size -= name.length + value.length + entryOverhead;
      this.#lines[this.#first] = '';
      this.#lines[this.#first + 1] = '';
      this.#first += 2;
    }
    // Not at each eviction: a block may evict an entry with every two bytes.
    if (this.#first < sweptFrom) return;
    this.#lines = this.#lines.slice(this.#first);
    this.#first = 0;
  }
}

/** HPACK (RFC 7541) as tests write it, beside the decoder and the encoder under test. */
import { staticTable } from '../hpack/static-table.ts';
import { decodedHuffman, encodeHuffman } from './huffman.ts';

/** A string literal (section 5.2). @param text a byte string */
function stringLiteral(text: string, isHuffman = false): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  const coded = isHuffman ? encodeHuffman(bytes) : bytes;
  return Buffer.concat([integer(coded.length, 7, isHuffman ? 0x80 : 0), coded]);
}

/** Section 5.1. */
function integer(value: number, prefixBits: number, firstByte: number): Buffer {
  const limit = 2 ** prefixBits - 1;
  if (value < limit) return Buffer.from([firstByte | value]);
  const bytes = [firstByte | limit];
  let rest = value - limit;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  return Buffer.from([...bytes, rest]);
}

/** Name and value as they are, in a literal without indexing (section 6.2.2). */
function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0x00]), stringLiteral(name), stringLiteral(value)]);
}

/** The same, put into the dynamic table (section 6.2.1), where it is entry 62 until the next one. */
export function indexedLiteral(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.from([0x40]), stringLiteral(name), stringLiteral(value)]);
}

/** A field of the static or dynamic table (section 6.1). */
export function indexed(index: number): Buffer {
  return integer(index, 7, 0x80);
}

/** @param lines name, value, name, value. */
export function fieldBlock(lines: readonly string[]): Buffer {
  const fields: Buffer[] = [];
  for (let index = 0; index + 1 < lines.length; index += 2) {
    fields.push(literal(lines[index] ?? '', lines[index + 1] ?? ''));
  }
  return Buffer.concat(fields);
}

/** Static table entries 8 to 14 (appendix A). */
const indexedStatuses = [200, 204, 206, 304, 400, 404, 500];

/** The `:status` that an answer's field block begins with. @throws for a form that no server here uses. */
export function statusOf(block: Buffer): number {
  // Dynamic table size updates may come first (section 6.3).
  let offset = 0;
  while (((block[offset] ?? 0) & 0xe0) === 0x20) offset++;
  const first = block[offset] ?? 0;
  const status = indexedStatuses[first - 0x88];
  if (status !== undefined) return status;
  // A literal whose name is an entry of the static table: `:status` again.
  const name = first & ((first & 0x40) === 0 ? 0x0f : 0x3f);
  const length = (block[offset + 1] ?? 0) & 0x7f;
  const value = block.subarray(offset + 2, offset + 2 + length);
  const isHuffman = ((block[offset + 1] ?? 0) & 0x80) !== 0;
  const text = isHuffman ? decodedHuffman(value) : value.toString('latin1');
  if (name < 8 || name > 14 || !/^\d{3}$/.test(text))
    throw new Error(`no status in ${block.toString('hex')}`);
  return Number(text);
}

/** How a header line is written (section 6). */
export interface WrittenLine {
  readonly name: string;
  readonly value: string;
  /** As a whole by its index, where a table has it; else as a literal. */
  readonly form: 'indexed' | 'with indexing' | 'without indexing' | 'never indexed';
  /** True if a literal names an index where a table has the literal's name. */
  readonly isNamedByIndex: boolean;
  readonly isHuffman: boolean;
}

/** The side that writes header blocks, with a dynamic table of its own (section 2.3.2). */
export class HpackWriter {
  /** The newest first. */
  #dynamic: { readonly name: string; readonly value: string }[] = [];
  #maximum = 4_096;

  /** A dynamic table size update (section 6.3). */
  resize(bytes: number): Buffer {
    this.#maximum = bytes;
    this.#evict();
    return integer(bytes, 5, 0x20);
  }

  line({ name, value, form, isNamedByIndex, isHuffman }: WrittenLine): Buffer {
    const whole = this.#indexOf((each) => each.name === name && each.value === value);
    if (form === 'indexed' && whole > 0) return integer(whole, 7, 0x80);
    const isAdded = form === 'indexed' || form === 'with indexing';
    const [bits, flags] = isAdded ? [6, 0x40] : [4, form === 'never indexed' ? 0x10 : 0];
    const index = isNamedByIndex ? this.#indexOf((each) => each.name === name) : 0;
    if (isAdded) {
      this.#dynamic.unshift({ name, value });
      this.#evict();
    }
    const writtenName = index > 0 ? [] : [stringLiteral(name, isHuffman)];
    return Buffer.concat([integer(index, bits, flags), ...writtenName, stringLiteral(value, isHuffman)]);
  }

  /** Bytes of its table (section 4.1). */
  get used(): number {
    return this.#dynamic.reduce((sum, { name, value }) => sum + name.length + value.length + 32, 0);
  }

  /** The first index that names nothing. */
  get end(): number {
    return staticTable.length / 2 + this.#dynamic.length + 1;
  }

  /** 0 for none (section 2.3.3). */
  #indexOf(isWanted: (line: { readonly name: string; readonly value: string }) => boolean): number {
    const fixed = staticTable.flatMap((name, at) =>
      at % 2 === 0 ? [{ name, value: staticTable[at + 1] ?? '' }] : [],
    );
    return [...fixed, ...this.#dynamic].findIndex(isWanted) + 1;
  }

  /** Section 4.3. */
  #evict(): void {
    while (this.used > this.#maximum) this.#dynamic.pop();
  }
}

/** As much of HPACK (RFC 7541) as hostile requests and the code of an answer take. */

/** A string literal without Huffman coding (section 5.2). @param text a byte string */
function stringLiteral(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1');
  return Buffer.concat([integer(bytes.length, 7, 0), bytes]);
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
  const text = isHuffman ? huffmanDigits(value) : value.toString('latin1');
  if (name < 8 || name > 14 || !/^\d{3}$/.test(text))
    throw new Error(`no status in ${block.toString('hex')}`);
  return Number(text);
}

/** Digits only: 0 to 2 have five bits, 3 to 9 six (appendix B). */
function huffmanDigits(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let text = '';
  for (let offset = 0; text.length < 3; ) {
    const five = Number.parseInt(bits.slice(offset, offset + 5), 2);
    if (five <= 2) {
      text += String(five);
      offset += 5;
      continue;
    }
    const digit = Number.parseInt(bits.slice(offset, offset + 6), 2) - 0x19 + 3;
    if (!(digit >= 3 && digit <= 9)) throw new Error(`no digits in ${bits}`);
    text += String(digit);
    offset += 6;
  }
  return text;
}

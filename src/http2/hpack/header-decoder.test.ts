import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fieldBlock, indexed, indexedLiteral } from '../../../test/support/security/hpack.ts';
import { HeaderDecoder, HpackError } from './header-decoder.ts';

const noLimits = { maximumLines: 1_000, maximumSize: 1024 * 1024 };

const newDecoder = (limits = noLimits): HeaderDecoder => new HeaderDecoder(limits);
const bytes = (...values: number[]): Buffer => Buffer.from(values);
const resizeTo0 = bytes(0x20);
/** The first entry of the dynamic table. */
const newest = indexed(62);

function assertFaulty(block: Buffer, decoder = newDecoder()): void {
  assert.throws(() => decoder.decode(block), HpackError, block.toString('hex'));
}

describe('integers (RFC 7541 section 5.1)', () => {
  test('a value behind a full prefix is read from the bytes that follow', () => {
    // Appendix C.1.2: 1337 with a prefix of five bits; here of seven, as the length of a value.
    const value = 'v'.repeat(1337);
    const block = Buffer.concat([
      bytes(0x00, 0x01),
      Buffer.from('n'),
      bytes(0x7f, 0xba, 0x09),
      Buffer.from(value),
    ]);
    assert.deepEqual(newDecoder().decode(block).lines, ['n', value]);
  });

  test('attack: an integer that overflows 32 or 64 bits is invalid, not a small one', () => {
    assertFaulty(bytes(0xff, 0x80, 0x80, 0x80, 0x80, 0x10));
    assertFaulty(bytes(0xff, 0xff, 0xff, 0xff, 0xff, 0x0f));
    assertFaulty(bytes(0xff, ...Array.from({ length: 9 }, () => 0xff), 0x01));
    assertFaulty(bytes(0x00, 0x7f, 0x81, 0x80, 0x80, 0x80, 0x10));
    assertFaulty(bytes(0x3f, 0xff, 0xff, 0xff, 0xff, 0x7f));
  });

  test('attack: an integer that goes on without adding anything is invalid', () => {
    assertFaulty(bytes(0xff, ...Array.from({ length: 1_000 }, () => 0x80), 0x00));
  });

  test('a block that breaks off within a line is invalid, wherever it does', () => {
    const block = Buffer.concat([bytes(0x7f, 0x00), bytes(0x7f, 0x01), Buffer.alloc(128, 'v')]);
    for (let length = 1; length < block.length; length++) assertFaulty(block.subarray(0, length));
  });
});

describe('indexes (section 6.1)', () => {
  test('index 0 stands for nothing, and so does one beyond both tables', () => {
    assertFaulty(bytes(0x80));
    assertFaulty(indexed(62));
    assertFaulty(indexed(2 ** 27));
    const decoder = newDecoder();
    decoder.decode(indexedLiteral('a', 'b'));
    assert.deepEqual(decoder.decode(newest).lines, ['a', 'b']);
    assertFaulty(indexed(63), decoder);
  });

  test('a name by an index beyond both tables is invalid', () => {
    assertFaulty(bytes(0x7e, 0x01, 0x61));
    assertFaulty(bytes(0x0f, 62 - 15, 0x01, 0x61));
  });

  test('the last entry of the static table and the first of the dynamic one lie side by side', () => {
    const decoder = newDecoder();
    decoder.decode(indexedLiteral('a', 'b'));
    assert.deepEqual(decoder.decode(Buffer.concat([indexed(61), newest])).lines, [
      'www-authenticate',
      '',
      'a',
      'b',
    ]);
  });
});

describe('strings (section 5.2)', () => {
  test('attack: a string that reaches beyond its block is invalid, and nothing is read behind it', () => {
    const memory = Buffer.from('\x00\x01n\x06valuesecret', 'latin1');
    assertFaulty(memory.subarray(0, 9));
    assertFaulty(bytes(0x00, 0x01, 0x6e, 0x7f, 0xff, 0xff, 0xff, 0x7f));
  });

  test('an invalid Huffman code makes the block invalid', () => {
    assertFaulty(bytes(0x00, 0x01, 0x6e, 0x81, 0xff));
  });

  test('a string whose Huffman code is longer than any before it is read whole', () => {
    const decoder = newDecoder();
    // `0` has the shortest code: five bits, all zero.
    const length = 10_000;
    // 127 and then 9,873 in groups of seven bits.
    const head = bytes(0x00, 0x01, 0x6e, 0xff, 0x80 | (9_873 & 0x7f), 9_873 >> 7);
    const whole = Buffer.concat([head, Buffer.alloc(length)]);
    assert.deepEqual(decoder.decode(whole).lines, ['n', '0'.repeat((length * 8) / 5)]);
  });
});

describe('table size updates (section 6.3)', () => {
  test('one in front of the block is obeyed, and several are', () => {
    const decoder = newDecoder();
    decoder.decode(indexedLiteral('a', 'b'));
    assert.deepEqual(decoder.decode(Buffer.concat([resizeTo0, bytes(0x3f, 0xe1, 0x1f), indexed(2)])).lines, [
      ':method',
      'GET',
    ]);
    assertFaulty(newest, decoder);
  });

  test('one behind a line is invalid', () => {
    assertFaulty(Buffer.concat([indexed(2), resizeTo0]));
  });

  test('attack: one beyond the 4,096 bytes that we allow is invalid', () => {
    assert.deepEqual(newDecoder().decode(bytes(0x3f, 0xe1, 0x1f)).lines, []);
    assertFaulty(bytes(0x3f, 0xe2, 0x1f));
    assertFaulty(bytes(0x3f, 0xff, 0xff, 0xff, 0x7f));
  });
});

describe('limits', () => {
  test('a head up to its limits is read, and one line or byte more is reported', () => {
    const two = fieldBlock(['a', 'b', 'c', 'd']);
    const size = 2 * (2 + 32);
    const within = newDecoder({ maximumLines: 2, maximumSize: size }).decode(two);
    assert.deepEqual(within, { lines: ['a', 'b', 'c', 'd'], exceedLimits: false });
    assert.equal(newDecoder({ maximumLines: 1, maximumSize: size }).decode(two).exceedLimits, true);
    assert.equal(newDecoder({ maximumLines: 2, maximumSize: size - 1 }).decode(two).exceedLimits, true);
  });

  test('what exceeds them is still read to its end: the next block refers to it', () => {
    const decoder = newDecoder({ maximumLines: 2, maximumSize: 1_000 });
    const many = [indexed(2), indexed(3), indexed(4), indexed(5)];
    const first = Buffer.concat([...many, indexedLiteral('late', 'entry')]);
    assert.equal(decoder.decode(first).exceedLimits, true);
    assert.deepEqual(decoder.decode(newest), { lines: ['late', 'entry'], exceedLimits: false });
  });

  test('what follows them must be valid, too', () => {
    const decoder = newDecoder({ maximumLines: 1, maximumSize: 1_000 });
    assertFaulty(Buffer.concat([indexed(2), indexed(3), indexed(4), bytes(0x80)]), decoder);
  });

  test('attack: what is far beyond them is not read to its end', () => {
    const lines = (count: number): Buffer => Buffer.alloc(count, 0x82);
    const limits = { maximumLines: 10, maximumSize: 1_000_000 };
    assert.equal(newDecoder(limits).decode(lines(40)).exceedLimits, true);
    assertFaulty(lines(41), newDecoder(limits));
  });

  test('attack: a few bytes that name kilobytes again and again are kept up to the limit only', () => {
    const decoder = newDecoder({ maximumLines: 1_000_000, maximumSize: 64 * 1024 });
    const bomb = Buffer.concat([indexedLiteral('bomb', 'b'.repeat(4_000)), Buffer.alloc(100_000, 0xbe)]);
    const { lines, exceedLimits } = decoder.decode(bomb);
    assert.equal(exceedLimits, true);
    assert.ok(lines.length / 2 <= (64 * 1024) / 4_036, `${lines.length / 2} lines were kept`);
  });
});

test('attack: random bytes give lines or an HpackError, nothing else', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 200 }), { maxLength: 5 }), (blocks) => {
      const decoder = newDecoder();
      for (const block of blocks) {
        try {
          const { lines } = decoder.decode(Buffer.from(block));
          assert.equal(lines.length % 2, 0);
          assert.ok(lines.every((text) => typeof text === 'string'));
        } catch (error) {
          assert.ok(error instanceof HpackError, String(error));
          return;
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

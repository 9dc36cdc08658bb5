import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fieldBlock, indexed, indexedLiteral } from '../test/hpack.ts';
import { bytesOfBits, encodeHuffman, huffmanCodes } from '../test/huffman.ts';
import {
  DynamicTable,
  decodeHuffman,
  defaultTableSize,
  HeaderDecoder,
  HpackError,
  maximumDecodedLength,
} from './header-decoder.ts';

/** `undefined` for an invalid code. */
function decode(encoded: Buffer): Buffer | undefined {
  const into = Buffer.alloc(maximumDecodedLength(encoded.length));
  const length = decodeHuffman(encoded, 0, encoded.length, into);
  return length < 0 ? undefined : into.subarray(0, length);
}

test('each byte is read from the code that RFC 7541 appendix B prints for it', () => {
  assert.equal(huffmanCodes.length, 257);
  for (let byte = 0; byte < 256; byte++) {
    const code = huffmanCodes[byte] ?? '';
    assert.deepEqual(decode(bytesOfBits(code)), Buffer.from([byte]), `byte ${byte}`);
    // Behind another one it begins in the middle of a byte.
    assert.deepEqual(decode(bytesOfBits(`${huffmanCodes[48]}${code}`)), Buffer.from([48, byte]));
  }
});

test('any bytes are read as they were coded', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      assert.deepEqual(decode(encodeHuffman(bytes)), Buffer.from(bytes));
    }),
  );
});

test('only the bytes between start and end are read', () => {
  const encoded = Buffer.concat([Buffer.from([0]), encodeHuffman(Buffer.from('www')), Buffer.from([0])]);
  const into = Buffer.alloc(10);
  assert.equal(decodeHuffman(encoded, 1, encoded.length - 1, into), 3);
  assert.equal(into.toString('latin1', 0, 3), 'www');
  assert.equal(into[3], 0);
});

test('a string of the shortest codes fits where `maximumDecodedLength` says that it does', () => {
  for (let length = 0; length < 40; length++) {
    const encoded = encodeHuffman(Buffer.alloc(length, '0'));
    assert.ok(maximumDecodedLength(encoded.length) >= length);
  }
});

test('attack: padding of zeros, of eight bits or more, or of a broken code is invalid', () => {
  const zero = huffmanCodes[48] ?? '';
  assert.deepEqual(decode(bytesOfBits(`${zero}111`)), Buffer.from('0'));
  for (const padding of ['000', '110', '011', '101', '11111111111', '111'.padEnd(19, '1')]) {
    assert.equal(decode(bytesOfBits(zero + padding)), undefined, `padded with ${padding}`);
  }
  // Nothing but padding: seven bits may be left over, a whole byte may not.
  assert.equal(decode(Buffer.from([0xff])), undefined);
});

test('attack: the symbol EOS in a string is invalid, wherever it stands', () => {
  const endOfString = huffmanCodes[256] ?? '';
  for (const before of ['', ...[...'0A{'].map((text) => huffmanCodes[text.charCodeAt(0)] ?? '')]) {
    for (const behind of ['', huffmanCodes[48] ?? '', '0'.repeat(40)]) {
      assert.equal(decode(bytesOfBits(before + endOfString + behind)), undefined);
    }
  }
});

test('attack: random bytes are either invalid, or exactly what coding the result gives', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
      const decoded = decode(Buffer.from(bytes));
      if (decoded !== undefined) assert.deepEqual(encodeHuffman(decoded), Buffer.from(bytes));
    }),
    { numRuns: 1_000 },
  );
});

function contents(table: DynamicTable): string[][] {
  return Array.from({ length: table.length }, (_, index) => [table.name(index), table.value(index)]);
}

test('the newest entry has the smallest index', () => {
  const table = new DynamicTable();
  table.add('a', '1');
  table.add('b', '2');
  assert.deepEqual(contents(table), [
    ['b', '2'],
    ['a', '1'],
  ]);
});

test('a new entry drives out as many of the oldest as it needs room', () => {
  const table = new DynamicTable();
  table.resize(3 * (2 + 32));
  for (const name of ['a', 'b', 'c']) table.add(name, '1');
  table.add('d', '22');
  assert.deepEqual(contents(table), [
    ['d', '22'],
    ['c', '1'],
  ]);
});

test('an entry larger than the whole table empties it, and is not in it', () => {
  const table = new DynamicTable();
  table.add('a', '1');
  table.add('b', 'x'.repeat(defaultTableSize - 32));
  assert.deepEqual(contents(table), []);
  table.add('c', 'x'.repeat(defaultTableSize - 33));
  assert.equal(table.length, 1);
});

test('made smaller it loses its oldest entries, and made larger again they stay lost', () => {
  const table = new DynamicTable();
  for (const name of ['a', 'b', 'c']) table.add(name, '1');
  table.resize(2 * 34 + 33);
  table.resize(defaultTableSize);
  assert.deepEqual(contents(table), [
    ['c', '1'],
    ['b', '1'],
  ]);
  table.resize(0);
  table.add('d', '');
  assert.deepEqual(contents(table), []);
});

test('after any operations it holds the newest entries that fit, and never more', () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ name: fc.string({ maxLength: 40 }), value: fc.string({ maxLength: 60 }) }),
    },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 400 }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = new DynamicTable();
      let expected: string[][] = [];
      let maximum = defaultTableSize;
      for (const one of steps) {
        if (typeof one === 'number') {
          maximum = one;
          table.resize(one);
        } else {
          table.add(one.name, one.value);
          expected = [[one.name, one.value], ...expected];
        }
        let size = 0;
        const firstTooMuch = expected.findIndex((entry) => {
          size += entry.join('').length + 32;
          return size > maximum;
        });
        if (firstTooMuch !== -1) expected = expected.slice(0, firstTooMuch);
        assert.deepEqual(contents(table), expected);
      }
    }),
  );
});

/** Blocks that one connection sends one after the other, and the lines of each. */
interface Vector {
  readonly section: string;
  readonly blocks: readonly { readonly hex: string; readonly lines: readonly string[] }[];
}

const firstRequest = [':method', 'GET', ':scheme', 'http', ':path', '/', ':authority', 'www.example.com'];
const secondRequest = [...firstRequest, 'cache-control', 'no-cache'];
const thirdRequest = [
  ...[':method', 'GET', ':scheme', 'https', ':path', '/index.html', ':authority', 'www.example.com'],
  ...['custom-key', 'custom-value'],
];
const location = ['location', 'https://www.example.com'];
const dated = ['cache-control', 'private', 'date', 'Mon, 21 Oct 2013 20:13:21 GMT', ...location];
const firstResponse = [':status', '302', ...dated];
const secondResponse = [':status', '307', ...dated];
const thirdResponse = [
  ...[':status', '200', 'cache-control', 'private', 'date', 'Mon, 21 Oct 2013 20:13:22 GMT', ...location],
  ...['content-encoding', 'gzip'],
  ...['set-cookie', 'foo=ASDJKHQKBZXOQWEOPIUAXQWEOIU; max-age=3600; version=1'],
];
/** Appendices C.5 and C.6 have a table of 256 bytes, which settings may say; here the block does (section 6.3). */
const tableOf256 = '3fe101';

const vectors: readonly Vector[] = [
  {
    section: 'C.2.1, a literal with indexing',
    blocks: [
      {
        hex: '400a637573746f6d2d6b65790d637573746f6d2d686561646572',
        lines: ['custom-key', 'custom-header'],
      },
      { hex: 'be', lines: ['custom-key', 'custom-header'] },
    ],
  },
  {
    section: 'C.2.2, a literal without indexing',
    blocks: [{ hex: '040c2f73616d706c652f70617468', lines: [':path', '/sample/path'] }],
  },
  {
    section: 'C.2.3, a literal that is never indexed',
    blocks: [{ hex: '100870617373776f726406736563726574', lines: ['password', 'secret'] }],
  },
  { section: 'C.2.4, an indexed line', blocks: [{ hex: '82', lines: [':method', 'GET'] }] },
  {
    section: 'C.3, requests without Huffman coding',
    blocks: [
      { hex: '828684410f7777772e6578616d706c652e636f6d', lines: firstRequest },
      { hex: '828684be58086e6f2d6361636865', lines: secondRequest },
      { hex: '828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565', lines: thirdRequest },
    ],
  },
  {
    section: 'C.4, requests with Huffman coding',
    blocks: [
      { hex: '828684418cf1e3c2e5f23a6ba0ab90f4ff', lines: firstRequest },
      { hex: '828684be5886a8eb10649cbf', lines: secondRequest },
      { hex: '828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf', lines: thirdRequest },
    ],
  },
  {
    section: 'C.5, responses without Huffman coding, whose entries drive each other out',
    blocks: [
      {
        hex: `${tableOf256}4803333032580770726976617465611d4d6f6e2c203231204f637420323031332032303a31333a323120474d546e1768747470733a2f2f7777772e6578616d706c652e636f6d`,
        lines: firstResponse,
      },
      { hex: '4803333037c1c0bf', lines: secondResponse },
      {
        hex: '88c1611d4d6f6e2c203231204f637420323031332032303a31333a323220474d54c05a04677a69707738666f6f3d4153444a4b48514b425a584f5157454f50495541585157454f49553b206d61782d6167653d333630303b2076657273696f6e3d31',
        lines: thirdResponse,
      },
    ],
  },
  {
    section: 'C.6, responses with Huffman coding, whose entries drive each other out',
    blocks: [
      {
        hex: `${tableOf256}488264025885aec3771a4b6196d07abe941054d444a8200595040b8166e082a62d1bff6e919d29ad171863c78f0b97c8e9ae82ae43d3`,
        lines: firstResponse,
      },
      { hex: '4883640effc1c0bf', lines: secondResponse },
      {
        hex: '88c16196d07abe941054d444a8200595040b8166e084a62d1bffc05a839bd9ab77ad94e7821dd7f2e6c7b335dfdfcd5b3960d5af27087f3672c1ab270fb5291f9587316065c003ed4ee5b1063d5007',
        lines: thirdResponse,
      },
    ],
  },
];

describe('the examples of RFC 7541 appendix C', () => {
  for (const { section, blocks } of vectors) {
    test(section, () => {
      const decoder = new HeaderDecoder({ maximumLines: 100, maximumSize: 10_000 });
      for (const { hex, lines } of blocks) {
        const block = Buffer.from(hex, 'hex');
        assert.equal(block.length, hex.length / 2);
        assert.deepEqual(decoder.decode(block), { lines, exceedLimits: false });
      }
    });
  }
});

test('the size of a head is counted with 32 bytes a line, as RFC 9113 section 6.5.2 has it', () => {
  const block = Buffer.from('828684410f7777772e6578616d706c652e636f6d', 'hex');
  const size = firstRequest.join('').length + 4 * 32;
  const exactly = new HeaderDecoder({ maximumLines: 4, maximumSize: size });
  assert.equal(exactly.decode(block).exceedLimits, false);
  const less = new HeaderDecoder({ maximumLines: 4, maximumSize: size - 1 });
  assert.equal(less.decode(block).exceedLimits, true);
});

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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HeaderDecoder } from './header-decoder.ts';
import { emptyTable, indexedLine, literalLine } from './header-encoder.ts';
import { staticTable, staticTableLength } from './static-table.ts';

function decode(...blocks: string[]): string[][] {
  const decoder = new HeaderDecoder({ maximumLines: 1_000, maximumSize: 10_000_000 });
  return blocks.map((block) => decoder.decode(Buffer.from(block, 'latin1')).lines);
}

const byteString = (maxLength: number): fc.Arbitrary<string> =>
  fc.uint8Array({ maxLength }).map((bytes) => Buffer.from(bytes).toString('latin1'));
const name = fc.oneof(
  fc.constantFrom(...staticTable.filter((_, index) => index % 2 === 0)),
  fc.stringMatching(/^[a-z0-9-]{1,200}$/),
);

test('what is encoded is read as it was', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(name, byteString(500)), { maxLength: 20 }), (lines) => {
      const literal = lines.map(([name, value]) => literalLine(name, value)).join('');
      const indexed = lines.map(([name, value]) => indexedLine(name, value)).join('');
      assert.deepEqual(decode(literal, indexed), [lines.flat(), lines.flat()]);
    }),
  );
});

test('values around the lengths at which their length takes one byte more are read whole', () => {
  for (const length of [0, 1, 126, 127, 128, 254, 255, 16_510, 16_511, 16_512, 1_000_000]) {
    const value = 'v'.repeat(length);
    assert.deepEqual(decode(literalLine('x-test', value))[0], ['x-test', value]);
  }
});

test('each line of the static table takes one byte', () => {
  for (let index = 1; index <= staticTableLength; index++) {
    const [name = '', value = ''] = staticTable.slice(2 * index - 2, 2 * index);
    assert.equal(indexedLine(name, value), String.fromCharCode(0x80 | index));
  }
});

test('attack: no line asks for an entry in the table of the server, where another caller could find it', () => {
  fc.assert(
    fc.property(name, byteString(200), (name, value) => {
      const block = Buffer.from(literalLine(name, value), 'latin1');
      // RFC 7541 section 6.2.3: 0001, for whoever passes it on. With indexing (section 6.2.1) it would begin with 01.
      assert.equal((block[0] ?? 0) & 0xf0, 0x10);
      const decoder = new HeaderDecoder({ maximumLines: 10, maximumSize: 10_000 });
      decoder.decode(block);
      assert.throws(() => decoder.decode(Buffer.from([0x80 | (staticTableLength + 1)])));
    }),
  );
});

test('the table of the server is set to nothing in front of the first line', () => {
  assert.deepEqual(decode(emptyTable + literalLine('a', 'b')), [['a', 'b']]);
  // One size update (section 6.3), of 0.
  assert.deepEqual(Buffer.from(emptyTable, 'latin1'), Buffer.from([0x20]));
});

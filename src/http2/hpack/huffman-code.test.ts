import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bytesOfBits, encodeHuffman, huffmanCodes } from '../../../test/support/security/huffman.ts';
import { decodeHuffman, maximumDecodedLength } from './header-decoder.ts';

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

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { array, assert as check, nat, property, uint8Array } from 'fast-check';
import { TransportError } from '../proxy/transport.ts';
import { ChunkedBody } from './chunked-body.ts';

/** Reads `coded` in pieces of these sizes. */
function read(coded: Buffer, sizes: readonly number[]) {
  const parts: Buffer[] = [];
  const body = new ChunkedBody((data) => parts.push(Buffer.from(data)));
  let offset = 0;
  let taken = 0;
  for (const size of [...sizes, coded.length]) {
    const piece = coded.subarray(offset, offset + size);
    taken += body.push(piece);
    offset += piece.length;
  }
  return { content: Buffer.concat(parts), isOver: body.isOver, taken };
}

describe('a chunked body', () => {
  test('is the same wherever its bytes are cut, and what stands behind it is left alone', () => {
    const chunks = array(uint8Array({ minLength: 1, maxLength: 40 }), { maxLength: 6 });
    check(
      property(chunks, array(nat(9), { maxLength: 60 }), (contents, sizes) => {
        const coded = Buffer.concat([
          ...contents.flatMap((data) => [
            Buffer.from(`${data.length.toString(16)};x=y\r\n`),
            data,
            Buffer.from('\r\n'),
          ]),
          Buffer.from('0\r\nTrailer: x\r\n\r\n'),
        ]);
        const behind = Buffer.from('HTTP/1.1 200');
        const result = read(Buffer.concat([coded, behind]), sizes);
        assert.deepEqual(result.content, Buffer.concat(contents));
        assert.equal(result.isOver, true);
        assert.equal(result.taken, coded.length);
      }),
    );
  });

  test('that breaks off is not over', () => {
    assert.equal(read(Buffer.from('5\r\nhel'), []).isOver, false);
    assert.equal(read(Buffer.from('5\r\nhello\r\n0\r\n'), []).isOver, false);
  });

  for (const [fault, coded] of [
    ['a bare line feed', '1\nx\r\n0\r\n\r\n'],
    ['a size with a sign', '+1\r\nx\r\n0\r\n\r\n'],
    ['a size in another notation', '0x1\r\nx\r\n0\r\n\r\n'],
    ['no size', '\r\nx'],
    ['a chunk longer than its size', '1\r\nxy\r\n0\r\n\r\n'],
    ['a size beyond every body', 'fffffffffffff\r\n'],
    ['an endless extension', `1;${'x'.repeat(5_000)}`],
    ['endless trailers', `0\r\n${'A: b\r\n'.repeat(5_000)}`],
  ] as const) {
    test(`attack: ${fault} ends the answer`, () => {
      assert.throws(
        () => read(Buffer.from(coded), [3, 2]),
        (error) => error instanceof TransportError && error.code === 'InvalidResponse',
      );
    });
  }
});

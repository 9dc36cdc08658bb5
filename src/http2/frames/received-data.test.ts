import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { frameFlag } from '../../../test/support/security/raw-http2.ts';
import { Http2Error } from './http2-error.ts';
import { ReceivedData } from './received-data.ts';

/** The content of a payload that comes in pieces of these sizes. */
function contentOf(payload: Buffer, flags: number, sizes: readonly number[]): Buffer {
  const data = new ReceivedData(flags, 1, payload.length);
  const pieces: Buffer[] = [];
  let offset = 0;
  for (const size of [...sizes, payload.length]) {
    const piece = payload.subarray(offset, offset + size);
    if (piece.length > 0) pieces.push(data.contentOf(piece));
    offset += piece.length;
  }
  return Buffer.concat(pieces);
}

const isPaddingFault = (error: unknown): boolean =>
  error instanceof Http2Error && error.scope === 'connection' && error.errorCode === 0x1;

test('content is told from padding wherever the frame is cut', () => {
  const sizes = fc.array(fc.integer({ min: 1, max: 60 }));
  const content = fc.uint8Array({ maxLength: 100 });
  fc.assert(
    fc.property(content, fc.integer({ min: 0, max: 255 }), sizes, (content, padding, sizes) => {
      const padded = Buffer.concat([Buffer.from([padding]), content, Buffer.alloc(padding, 0xee)]);
      assert.deepEqual(contentOf(padded, frameFlag.padded, sizes), Buffer.from(content));
      assert.deepEqual(contentOf(Buffer.from(content), frameFlag.none, sizes), Buffer.from(content));
    }),
    { numRuns: 500 },
  );
});

test('a frame that is nothing but padding has no content', () => {
  assert.equal(contentOf(Buffer.from([0]), frameFlag.padded, []).length, 0);
  assert.equal(contentOf(Buffer.from([3, 0, 0, 0]), frameFlag.padded, [1, 1, 1, 1]).length, 0);
});

test('attack: padding as long as the payload, or longer, is refused as soon as it is named', () => {
  assert.throws(() => new ReceivedData(frameFlag.padded, 1, 0), isPaddingFault);
  for (const payload of [[1], [4, 0, 0, 0], [255, 0]]) {
    for (const sizes of [[], [1]]) {
      assert.throws(() => contentOf(Buffer.from(payload), frameFlag.padded, sizes), isPaddingFault);
    }
  }
});

test('it knows whether it ends its stream', () => {
  assert.equal(new ReceivedData(frameFlag.endStream, 3, 0).endStream, true);
  assert.equal(new ReceivedData(frameFlag.padded, 3, 1).endStream, false);
});

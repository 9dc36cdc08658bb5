import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { openApiV2Protobuf } from '../../../test/support/openapi-v2.ts';
import { DiscoveryDocumentError } from '../forms/parse-document.ts';
import { addMissing } from './document-parts.ts';
import { protobufCodec } from './protobuf-codec.ts';

/** Not deepEqual: it would draw the difference of what may be 100,000 bytes. */
const isSame = (one: Uint8Array, other: Uint8Array) => Buffer.compare(one, other) === 0;
const large = 'x'.repeat(70_000);

describe('an OpenAPI v2 document in protobuf', () => {
  test('is the same bytes when it is put together again', async () => {
    for (const description of ['', 'short', large]) {
      const bytes = openApiV2Protobuf({
        paths: ['/api/', '/apis/batch/v1'],
        definitions: { Job: description },
      });
      assert.ok(isSame(protobufCodec.write(await protobufCodec.read(bytes)), bytes), `${description.length}`);
    }
  });

  test('gets what only another one has, and keeps its own', async () => {
    const leading = await protobufCodec.read(
      openApiV2Protobuf({ paths: ['/a', '/c'], definitions: { A: 'leading', C: large } }),
    );
    const other = openApiV2Protobuf({ paths: ['/a', '/b'], definitions: { A: 'other', B: large } });
    const added = addMissing(leading, await protobufCodec.read(other), 1_000_000);
    assert.ok(added !== undefined && added > large.length);
    // What was added is a copy: the other document is let go.
    other.fill(0);
    const expected = openApiV2Protobuf({
      paths: ['/a', '/b', '/c'],
      definitions: { A: 'leading', B: large, C: large },
    });
    assert.ok(isSame(protobufCodec.write(leading), expected));
  });

  test('is refused when it is none', async () => {
    const whole = openApiV2Protobuf({ paths: ['/a'], definitions: { A: 'a' } });
    const refused: readonly (readonly [Uint8Array, string])[] = [
      [Buffer.from('<html>'), 'InvalidDocument'],
      [new Uint8Array(), 'NotTheDocument'],
      [whole.subarray(0, -1), 'InvalidDocument'],
      // A varint without end, a length beyond the end, a group, field number 0.
      [new Uint8Array(12).fill(0xff), 'InvalidDocument'],
      [Uint8Array.from([0x0a, 0xff, 0xff, 0xff, 0xff, 0x7f]), 'InvalidDocument'],
      [Uint8Array.from([0x0b, 0x0c]), 'InvalidDocument'],
      [Uint8Array.from([0x02, 0x00]), 'InvalidDocument'],
    ];
    for (const [bytes, code] of refused) {
      await assert.rejects(
        protobufCodec.read(bytes),
        (error) => error instanceof DiscoveryDocumentError && error.code === code,
        Buffer.from(bytes).toString('hex'),
      );
    }
  });
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fieldBlock, indexed, indexedLiteral } from '../../../test/support/security/hpack.ts';
import { frameFlag, frameType } from '../../../test/support/security/raw-http2.ts';
import { Http2Error } from './frame.ts';
import { HeaderAssembly } from './frame-reader.ts';

const { headers, continuation } = frameType;
const { none, endHeaders, endStream, padded, priority } = frameFlag;
const lines = ['x-one', '1', 'x-two', '2'];
const block = fieldBlock(lines);
const noBytes = Buffer.alloc(0);

const newAssembly = (maximumSize = 64 * 1024): HeaderAssembly =>
  new HeaderAssembly({ maximumLines: 1_000, maximumSize });

function assertConnectionIssue(act: () => unknown, code: number): void {
  assert.throws(
    act,
    (error) => error instanceof Http2Error && error.scope === 'connection' && error.errorCode === code,
  );
}

describe('a block', () => {
  test('in one frame is read at once', () => {
    const assembly = newAssembly();
    assert.deepEqual(assembly.receive(headers, endHeaders | endStream, 3, block), {
      streamId: 3,
      endStream: true,
      lines,
      exceedLimits: false,
    });
    assert.equal(assembly.unfinished, undefined);
  });

  test('is read the same however it is cut, also when lent bytes are overwritten', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 12 }), { maxLength: 20 }), (sizes) => {
        const assembly = newAssembly();
        const lent = Buffer.alloc(block.length);
        let offset = 0;
        for (const [index, size] of sizes.entries()) {
          const length = block.copy(lent, 0, offset, Math.min(block.length, offset + size));
          const type = index === 0 ? headers : continuation;
          const flags = index === 0 ? endStream : none;
          assert.equal(assembly.receive(type, flags, 1, lent.subarray(0, length)), undefined);
          assert.ok(assembly.unfinished);
          lent.fill(0xee);
          offset += length;
        }
        const isFirst = sizes.length === 0;
        const flags = endHeaders | (isFirst ? endStream : none);
        const whole = assembly.receive(isFirst ? headers : continuation, flags, 1, block.subarray(offset));
        assert.deepEqual(whole, { streamId: 1, endStream: true, lines, exceedLimits: false });
      }),
    );
  });

  test('may end in an empty frame', () => {
    const assembly = newAssembly();
    assembly.receive(headers, none, 1, block);
    assert.deepEqual(assembly.receive(continuation, endHeaders, 1, noBytes)?.lines, lines);
  });

  test('refers to what an earlier one, of another stream, has put into the table', () => {
    const assembly = newAssembly();
    assembly.receive(headers, endHeaders, 1, indexedLiteral('a', 'b'));
    assert.deepEqual(assembly.receive(headers, endHeaders, 3, indexed(62))?.lines, ['a', 'b']);
  });

  test('that cannot be decoded ends the connection (COMPRESSION_ERROR)', () => {
    assertConnectionIssue(() => newAssembly().receive(headers, endHeaders, 1, indexed(62)), 0x9);
  });
});

describe('padding and priority', () => {
  const dependency = Buffer.from([0x80, 0, 0, 1, 16]);
  const padding = Buffer.alloc(7);

  test('are left out, each alone and both together', () => {
    const frames: readonly (readonly [number, Buffer[]])[] = [
      [padded, [Buffer.from([7]), block, padding]],
      [padded, [Buffer.from([0]), block]],
      [priority, [dependency, block]],
      [padded | priority, [Buffer.from([7]), dependency, block, padding]],
    ];
    for (const [flags, parts] of frames) {
      const received = newAssembly().receive(headers, flags | endHeaders, 1, Buffer.concat(parts));
      assert.deepEqual(received?.lines, lines);
    }
  });

  test('do not exist in a CONTINUATION, whatever its flags say', () => {
    const assembly = newAssembly();
    assembly.receive(headers, none, 1, noBytes);
    assert.deepEqual(assembly.receive(continuation, endHeaders | padded | priority, 1, block)?.lines, lines);
  });

  test('attack: those that reach beyond the frame are refused', () => {
    const frames: readonly (readonly [number, number[]])[] = [
      [padded, []],
      [padded, [1]],
      [padded, [200, 0]],
      [priority, [0, 0, 0, 0]],
      [padded | priority, [1, 0, 0, 0, 0, 0]],
    ];
    for (const [flags, payload] of frames) {
      assertConnectionIssue(
        () => newAssembly().receive(headers, flags | endHeaders, 1, Buffer.from(payload)),
        0x1,
      );
    }
  });
});

describe('CONTINUATION', () => {
  test('of another stream, or without HEADERS in front of it, is refused', () => {
    assertConnectionIssue(() => newAssembly().receive(continuation, endHeaders, 1, block), 0x1);
    const assembly = newAssembly();
    assembly.receive(headers, none, 1, block);
    assertConnectionIssue(() => assembly.receive(continuation, endHeaders, 3, block), 0x1);
    const finished = newAssembly();
    finished.receive(headers, endHeaders, 1, block);
    assertConnectionIssue(() => finished.receive(continuation, endHeaders, 1, block), 0x1);
  });

  test('attack: a flood of them is refused once it is larger than any head may be (CVE-2024-27316)', () => {
    const assembly = newAssembly();
    const fragment = Buffer.alloc(16_000);
    assembly.receive(headers, none, 1, fragment);
    for (let count = 2; count <= 4; count++) assembly.receive(continuation, none, 1, fragment);
    assertConnectionIssue(() => assembly.receive(continuation, none, 1, fragment), 0xb);
  });

  test('attack: a flood of empty ones is refused as well (VU#421644)', () => {
    const assembly = newAssembly();
    assembly.receive(headers, none, 1, noBytes);
    assertConnectionIssue(() => {
      for (let count = 0; count < 1_000; count++) assembly.receive(continuation, none, 1, noBytes);
    }, 0xb);
  });
});

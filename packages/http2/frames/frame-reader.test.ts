import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { fieldBlock, indexed, indexedLiteral } from '../test/hpack.ts';
import { frame, frameFlag, frameType } from '../test/raw-http2.ts';
import { Http2Error } from './frame.ts';
import { type FrameHandler, FrameReader, HeaderAssembly, ReceivedData } from './frame-reader.ts';

/** Writes down what it is called with; neighbouring pieces of one DATA frame count as one. */
class Recorder implements FrameHandler {
  readonly calls: (readonly [string, ...(number | string)[]])[] = [];
  #data = '';
  onFrame: () => void = () => {};

  frame(type: number, flags: number, streamId: number, payload: Buffer): void {
    this.calls.push(['frame', type, flags, streamId, payload.toString('hex')]);
    this.onFrame();
  }

  dataBegins(flags: number, streamId: number, length: number): void {
    this.#data = '';
    this.calls.push(['dataBegins', flags, streamId, length]);
  }

  dataPiece(piece: Buffer): void {
    assert.ok(piece.length > 0);
    this.#data += piece.toString('hex');
  }

  dataEnds(): void {
    this.calls.push(['dataEnds', this.#data]);
  }
}

/**
 * Calls for a `stream` that arrives in pieces of these sizes. Each piece is overwritten as soon as it has been read.
 */
function received(stream: Buffer, sizes: readonly number[]): Recorder['calls'] {
  const recorder = new Recorder();
  const reader = new FrameReader(recorder);
  const lent = Buffer.alloc(stream.length);
  let offset = 0;
  for (const size of [...sizes, stream.length]) {
    const length = stream.copy(lent, 0, offset, Math.min(stream.length, offset + size));
    reader.receive(lent.subarray(0, length));
    lent.fill(0xee);
    offset += length;
  }
  assert.equal(offset, stream.length);
  return recorder.calls;
}

const anyFrame = fc
  .record({
    type: fc.constantFrom(0, 0, 1, 3, 4, 9, 0xfa),
    flags: fc.integer({ min: 0, max: 255 }),
    stream: fc.integer({ min: 0, max: 2 ** 31 - 1 }),
    payload: fc.oneof(fc.uint8Array({ maxLength: 40 }), fc.uint8Array({ minLength: 250, maxLength: 300 })),
  })
  .map(({ type, flags, stream, payload }) => ({ type, flags, stream, payload: Buffer.from(payload) }));

describe('a stream of frames', () => {
  test('gives the same however it is cut, also when lent bytes are overwritten', () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 12 }), fc.integer({ min: 13, max: 700 })));
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 8 }), sizes, (frames, sizes) => {
        const expected = frames.flatMap(({ type, flags, stream, payload }): Recorder['calls'] =>
          type === frameType.data
            ? [
                ['dataBegins', flags, stream, payload.length],
                ['dataEnds', payload.toString('hex')],
              ]
            : [['frame', type, flags, stream, payload.toString('hex')]],
        );
        const bytes = Buffer.concat(
          frames.map(({ type, flags, stream, payload }) => frame(type, flags, stream, payload)),
        );
        assert.deepEqual(received(bytes, sizes), expected);
      }),
      { numRuns: 500 },
    );
  });

  test('gives the same byte by byte', () => {
    const bytes = Buffer.concat([
      frame(frameType.settings, frameFlag.none, 0, Buffer.alloc(12, 1)),
      frame(frameType.data, frameFlag.none, 1),
      frame(frameType.data, frameFlag.endStream, 1, Buffer.alloc(300, 2)),
      frame(frameType.headers, frameFlag.endHeaders, 3, Buffer.alloc(400, 3)),
    ]);
    const oneByOne = received(
      bytes,
      Array.from(bytes, () => 1),
    );
    assert.deepEqual(oneByOne, received(bytes, []));
    assert.equal(oneByOne.length, 6);
  });

  test('ignores the reserved bit of stream identifiers', () => {
    const bytes = frame(frameType.ping, frameFlag.none, 0x8000_0001, Buffer.alloc(8));
    assert.equal(received(bytes, [])[0]?.[3], 1);
  });
});

test('DATA is passed on as it arrives, before its frame is complete', () => {
  const pieces: number[] = [];
  const recorder = new Recorder();
  recorder.dataPiece = (piece) => pieces.push(piece.length);
  const reader = new FrameReader(recorder);
  const bytes = frame(frameType.data, frameFlag.none, 1, Buffer.alloc(100));
  reader.receive(bytes.subarray(0, 29));
  assert.deepEqual(pieces, [20]);
  reader.receive(bytes.subarray(29, 30));
  assert.deepEqual(pieces, [20, 1]);
  assert.equal(recorder.calls.length, 1);
});

for (const type of [frameType.data, frameType.headers, 0xfa]) {
  test(`attack: a frame of type ${type} beyond 16 KiB is refused at its head, and one of 16 KiB is read`, () => {
    const recorder = new Recorder();
    new FrameReader(recorder).receive(frame(type, 0, 1, Buffer.alloc(16_384)));
    assert.ok(recorder.calls.length > 0);
    const tooLarge = frame(type, 0, 1, Buffer.alloc(16_385)).subarray(0, 9);
    const refusing = new Recorder();
    assert.throws(
      () => new FrameReader(refusing).receive(tooLarge),
      (error) => error instanceof Http2Error && error.scope === 'connection' && error.errorCode === 0x6,
    );
    assert.deepEqual(refusing.calls, []);
  });
}

test('a reader that was stopped reads nothing more, even of the same chunk', () => {
  const recorder = new Recorder();
  const reader = new FrameReader(recorder);
  recorder.onFrame = () => reader.stop();
  const ping = frame(frameType.ping, frameFlag.none, 0, Buffer.alloc(8));
  reader.receive(Buffer.concat([ping, ping]));
  reader.receive(ping);
  assert.equal(recorder.calls.length, 1);
});

/** The content of a payload that comes in pieces of these sizes. */
function contentOf(payload: Buffer, flags: number, sizes: readonly number[]): Buffer {
  const data = new ReceivedData(flags, payload.length);
  const pieces: Buffer[] = [];
  let offset = 0;
  for (const size of [...sizes, payload.length]) {
    const piece = payload.subarray(offset, offset + size);
    if (piece.length > 0) pieces.push(data.contentOf(piece));
    offset += piece.length;
  }
  return Buffer.concat(pieces);
}

const isPaddingIssue = (error: unknown): boolean =>
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
  assert.throws(() => new ReceivedData(frameFlag.padded, 0), isPaddingIssue);
  for (const payload of [[1], [4, 0, 0, 0], [255, 0]]) {
    for (const sizes of [[], [1]]) {
      assert.throws(() => contentOf(Buffer.from(payload), frameFlag.padded, sizes), isPaddingIssue);
    }
  }
});

test('DATA tells whether it ends its stream', () => {
  assert.equal(new ReceivedData(frameFlag.endStream, 0).endStream, true);
  assert.equal(new ReceivedData(frameFlag.padded, 1).endStream, false);
});

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

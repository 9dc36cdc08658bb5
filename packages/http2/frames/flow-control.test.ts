import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { PieceQueue, ReceiveWindow, SendWindow } from './flow-control.ts';
import { LeakyBucket } from './leaky-bucket.ts';

test('the send window grows with granted bytes', () => {
  const window = new SendWindow(40);
  assert.equal(window.widen(10), true);
  assert.equal(window.left, 50);
});

test('a send window that is reduced below the sent bytes is negative until it is widened', () => {
  const window = new SendWindow(0);
  assert.equal(window.widen(-60), true);
  assert.equal(window.left, -60);
  assert.equal(window.widen(61), true);
  assert.equal(window.left, 1);
});

test('a window may grow to 2^31-1 bytes, and not by one more', () => {
  const window = new SendWindow(65_535);
  assert.equal(window.widen(2 ** 31 - 1 - 65_535), true);
  assert.equal(window.widen(1), false);
});

test('attack: more than was granted is noticed, to the byte', () => {
  const window = new ReceiveWindow(100);
  assert.equal(window.take(100), true);
  assert.equal(window.take(0), true);
  assert.equal(window.take(1), false);
});

test('consumed bytes are granted again, half a window at a time', () => {
  const window = new ReceiveWindow(100);
  window.take(100);
  assert.equal(window.release(49), 0);
  assert.equal(window.release(1), 50);
  assert.equal(window.release(49), 0);
  assert.equal(window.take(50), true);
  assert.equal(window.take(1), false);
});

test('whatever comes and goes, a sender that keeps to the window is never stopped for good, nor given too much', () => {
  const steps = fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 300 })), { maxLength: 300 });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), steps, (size, steps) => {
      const window = new ReceiveWindow(size);
      let maySend = size;
      let unread = 0;
      const release = (bytes: number): void => {
        unread -= bytes;
        maySend += window.release(bytes);
      };
      for (const [isSent, bytes] of steps) {
        if (isSent) {
          const sent = Math.min(bytes, maySend);
          assert.equal(window.take(sent), true);
          maySend -= sent;
          unread += sent;
        } else {
          release(Math.min(bytes, unread));
        }
        assert.ok(unread + maySend <= size);
      }
      release(unread);
      assert.ok(maySend > 0);
    }),
  );
});

function takeAll(held: PieceQueue): Buffer[] {
  const pieces: Buffer[] = [];
  for (let piece = held.take(); piece !== undefined; piece = held.take()) pieces.push(piece);
  return pieces;
}

test('what is taken is what was added, in order, also when lent bytes are overwritten and when both alternate', () => {
  const piece = fc.uint8Array({ minLength: 1, maxLength: 300 });
  const step = fc.oneof({ weight: 4, arbitrary: piece }, { weight: 1, arbitrary: fc.constant(undefined) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const held = new PieceQueue();
      const added: Uint8Array[] = [];
      const taken: Uint8Array[] = [];
      for (const bytes of steps) {
        if (bytes === undefined) {
          const piece = held.take();
          if (piece !== undefined) taken.push(Buffer.from(piece));
          continue;
        }
        added.push(bytes);
        const lent = Buffer.from(bytes);
        held.add(lent);
        lent.fill(0xee);
      }
      const rest = takeAll(held);
      assert.deepEqual(Buffer.concat([...taken, ...rest]), Buffer.concat(added));
      assert.ok(held.isEmpty);
      assert.equal(held.take(), undefined);
    }),
  );
});

test('what is lent is what was added, in order, whoever else holds pieces, and however much of one is put back', () => {
  const step = fc.record({
    reader: fc.nat(1),
    bytes: fc.option(fc.tuple(fc.constantFrom(1, 300, 4_095, 4_096, 10_000, 16_384, 20_000), fc.nat(255))),
    putBack: fc.constantFrom(0, 0, 0.5, 0.9),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const readers = [0, 1].map(() => ({
        held: new PieceQueue('lent'),
        added: [] as Uint8Array[],
        taken: [] as Uint8Array[],
      }));
      const takeFrom = ({ held, taken }: (typeof readers)[number], share: number): boolean => {
        const piece = held.take();
        if (piece === undefined) return false;
        const left = Math.floor(piece.length * share);
        taken.push(Buffer.from(piece.subarray(0, piece.length - left)));
        if (left > 0) held.putBack(left);
        else held.release();
        return true;
      };
      for (const { reader, bytes, putBack } of steps) {
        const { held, added } = readers[reader] ?? assert.fail();
        if (bytes === null) {
          takeFrom(readers[reader] ?? assert.fail(), putBack);
          continue;
        }
        const piece = Buffer.alloc(bytes[0], bytes[1]);
        added.push(Buffer.from(piece));
        held.add(piece);
        piece.fill(0xee);
      }
      for (const reader of readers) {
        while (takeFrom(reader, 0));
        assert.ok(Buffer.concat(reader.taken).equals(Buffer.concat(reader.added)));
        assert.ok(reader.held.isEmpty);
      }
    }),
  );
});

test('buffers are used again only after they were released', () => {
  const held = new PieceQueue('lent');
  const piece = Buffer.alloc(16_384, 'x');
  held.add(piece);
  const first = held.take();
  held.add(piece);
  const second = held.take();
  assert.notEqual(first?.buffer, second?.buffer);
  held.release();
  held.add(piece);
  assert.equal(held.take()?.buffer, second?.buffer);
});

test('attack: a buffer that was cleared while it was read is given to nobody else', () => {
  const held = new PieceQueue('lent');
  held.add(Buffer.alloc(16_384, 'secret'));
  const piece = held.take();
  held.clear();
  held.release();
  const other = new PieceQueue('lent');
  other.add(Buffer.alloc(16_384, 'public'));
  assert.notEqual(other.take()?.buffer, piece?.buffer);
  assert.ok(piece?.equals(Buffer.alloc(16_384, 'secret')));
});

test('a first short piece takes no block: thousands of streams may hold one each', () => {
  const held = new PieceQueue('lent');
  held.add(Buffer.from('event'));
  assert.equal(held.take()?.buffer.byteLength, 5);
});

test('what was taken is not overwritten by what is added afterwards', () => {
  const held = new PieceQueue();
  held.add(Buffer.from('a'));
  held.add(Buffer.from('b'));
  held.take();
  const piece = held.take();
  held.add(Buffer.from('c'));
  assert.equal(piece?.toString(), 'b');
  assert.equal(held.take()?.toString(), 'c');
});

test('attack: a window full of single bytes is held in a few blocks, not in an object each', () => {
  const held = new PieceQueue();
  const window = 256 * 1024;
  for (let count = 0; count < window; count++) held.add(Buffer.from([count & 0xff]));
  const pieces = takeAll(held);
  assert.equal(
    pieces.reduce((sum, { length }) => sum + length, 0),
    window,
  );
  assert.ok(pieces.length < 40, `${pieces.length} pieces`);
});

test('clear() empties the queue', () => {
  const held = new PieceQueue();
  assert.ok(held.isEmpty);
  held.add(Buffer.from('a'));
  assert.equal(held.isEmpty, false);
  held.clear();
  assert.ok(held.isEmpty);
  assert.equal(held.take(), undefined);
});

test('a burst passes, then as many as leak out', () => {
  const bucket = new LeakyBucket({ burst: 3, perSecond: 2 });
  assert.deepEqual(
    [1, 2, 3, 4].map(() => bucket.add(1_000)),
    [true, true, true, false],
  );
  // One more came than fits: half a second makes room for it, another half for the next.
  assert.equal(bucket.add(1_500), false);
  assert.equal(bucket.add(2_500), true);
});

test('the level falls to 0, never below', () => {
  const bucket = new LeakyBucket({ burst: 1, perSecond: 1 });
  assert.equal(bucket.add(0), true);
  assert.equal(bucket.add(3_600_000), true);
  assert.equal(bucket.add(3_600_000), false);
});

test('what was earned is used first, and kept up to a limit', () => {
  const bucket = new LeakyBucket({ burst: 1, perSecond: 0, earnedAtMost: 2 });
  bucket.earn(5);
  assert.deepEqual(
    [1, 2, 3, 4].map(() => bucket.add(0)),
    [true, true, true, false],
  );
  bucket.earn(1);
  assert.equal(bucket.add(0), true);
  assert.equal(bucket.levelAt(0), 2);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { HeldPieces } from './held-pieces.ts';

function takeAll(held: HeldPieces): Buffer[] {
  const pieces: Buffer[] = [];
  for (let piece = held.take(); piece !== undefined; piece = held.take()) pieces.push(piece);
  return pieces;
}

test('what is taken is what was added, in order, also when lent bytes are overwritten and when both alternate', () => {
  const piece = fc.uint8Array({ minLength: 1, maxLength: 300 });
  const step = fc.oneof({ weight: 4, arbitrary: piece }, { weight: 1, arbitrary: fc.constant(undefined) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const held = new HeldPieces();
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

test('what was taken is not overwritten by what is added afterwards', () => {
  const held = new HeldPieces();
  held.add(Buffer.from('a'));
  held.add(Buffer.from('b'));
  held.take();
  const piece = held.take();
  held.add(Buffer.from('c'));
  assert.equal(piece?.toString(), 'b');
  assert.equal(held.take()?.toString(), 'c');
});

test('attack: a window full of single bytes is held in a few blocks, not in an object each', () => {
  const held = new HeldPieces();
  const window = 256 * 1024;
  for (let count = 0; count < window; count++) held.add(Buffer.from([count & 0xff]));
  const pieces = takeAll(held);
  assert.equal(
    pieces.reduce((sum, { length }) => sum + length, 0),
    window,
  );
  assert.ok(pieces.length < 40, `${pieces.length} pieces`);
});

test('cleared, it is empty', () => {
  const held = new HeldPieces();
  assert.ok(held.isEmpty);
  held.add(Buffer.from('a'));
  assert.equal(held.isEmpty, false);
  held.clear();
  assert.ok(held.isEmpty);
  assert.equal(held.take(), undefined);
});

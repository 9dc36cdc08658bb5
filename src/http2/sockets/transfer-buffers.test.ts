import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TransferBuffers } from './transfer-buffers.ts';

test('buffers are used again, and a bounded number of them is kept', () => {
  const buffers = new TransferBuffers(1_000, 64);
  const first = buffers.take();
  assert.equal(first.length, 1_000);
  assert.notEqual(buffers.take(), first);
  buffers.release(first);
  assert.equal(buffers.take(), first);
  const many = Array.from({ length: 100 }, () => buffers.take());
  for (const buffer of many) buffers.release(buffer);
  const kept = Array.from({ length: 100 }, () => buffers.take()).filter((buffer) => many.includes(buffer));
  assert.equal(kept.length, 64);
});

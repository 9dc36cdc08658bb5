import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ReceiveWindow, SendWindow } from './flow-control.ts';

test('the send window shrinks with sent bytes and grows with granted ones', () => {
  const window = new SendWindow(100);
  window.take(60);
  assert.equal(window.left, 40);
  assert.equal(window.widen(10), true);
  assert.equal(window.left, 50);
});

test('a send window that is reduced below the sent bytes is negative until it is widened', () => {
  const window = new SendWindow(100);
  window.take(100);
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ReplayWindow } from './verify-assertion.ts';

test('a nonce is fresh once, until its deadline has come', () => {
  const window = new ReplayWindow(10);
  assert.equal(window.take('a', 100, 65), 'fresh');
  assert.equal(window.take('a', 100, 65), 'replayed');
  assert.equal(window.take('a', 100, 99), 'replayed');
  assert.equal(window.take('b', 100, 99), 'fresh');
  assert.equal(window.size, 2);
});

test('what has expired is forgotten, and stays refused when the clock is set back', () => {
  const window = new ReplayWindow(10);
  window.take('a', 100, 65);
  assert.equal(window.take('b', 135, 100), 'fresh');
  assert.equal(window.size, 1);
  assert.equal(window.take('a', 100, 65), 'replayed');
  assert.equal(window.size, 1);
});

test('a full window remembers nothing more and forgets nothing for it', () => {
  const window = new ReplayWindow(2);
  window.take('a', 100, 65);
  window.take('b', 101, 65);
  assert.equal(window.take('c', 100, 65), 'full');
  assert.equal(window.take('a', 100, 65), 'replayed');
  assert.equal(window.size, 2);
  assert.equal(window.take('c', 135, 100), 'fresh');
});

test('whatever comes, no nonce is fresh twice before its deadline and the size stays bounded', () => {
  const step = fc.record({
    nonce: fc.integer({ min: 0, max: 5 }).map(String),
    life: fc.integer({ min: 1, max: 65 }),
    passed: fc.integer({ min: -10, max: 20 }),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 8 }), (steps, capacity) => {
      const window = new ReplayWindow(capacity);
      const believed = new Set<string>();
      let now = 1_000;
      for (const { nonce, life, passed } of steps) {
        now += passed;
        // One bearer has one deadline, as one assertion has one `exp`.
        const bearer = `${nonce} ${now + life}`;
        if (window.take(nonce, now + life, now) === 'fresh') {
          assert.ok(!believed.has(bearer), `${bearer} was believed twice`);
          believed.add(bearer);
        }
        assert.ok(window.size <= capacity);
      }
    }),
  );
});

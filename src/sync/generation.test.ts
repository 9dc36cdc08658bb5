import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { nextGeneration } from './build-snapshot.ts';

const now = Date.UTC(2026, 0, 31, 12, 0, 0);

test('is one more than the previous generation', () => {
  assert.equal(nextGeneration(7, undefined, now), 8);
});

test('starts from the time in seconds when there is nothing to go on from', () => {
  assert.equal(nextGeneration(undefined, undefined, now), now / 1000);
});

test('a run without state is ahead of one that changed once a second since it began', () => {
  const seconds = 3600;
  let generation = nextGeneration(undefined, undefined, now);
  for (let change = 1; change < seconds; change++) generation = nextGeneration(generation, undefined, now);
  assert.ok(nextGeneration(undefined, undefined, now + seconds * 1000) > generation);
});

test('is higher than the previous one and than that of any router', () => {
  const generation = fc.option(fc.integer({ min: 1, max: 2 ** 40 }), { nil: undefined });
  fc.assert(
    fc.property(generation, generation, fc.integer({ min: 0, max: 2 ** 42 }), (previous, held, time) => {
      const next = nextGeneration(previous, held, time);
      assert.ok(Number.isSafeInteger(next) && next > (previous ?? 0) && next > (held ?? 0));
    }),
  );
});

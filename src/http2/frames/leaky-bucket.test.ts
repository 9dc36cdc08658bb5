import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LeakyBucket } from './leaky-bucket.ts';

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

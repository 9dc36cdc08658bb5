import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countOf } from './count-of.ts';

test('one is no plural', () => {
  assert.deepEqual(
    [0, 1, 2].map((count) => countOf(count, 'server')),
    ['0 servers', '1 server', '2 servers'],
  );
});

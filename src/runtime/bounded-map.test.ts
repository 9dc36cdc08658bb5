import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BoundedMap } from './bounded-map.ts';

test('a map that is full forgets what was set the longest ago, and what is set again is the newest', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3);
  assert.deepEqual(
    [...map],
    [
      ['b', 2],
      ['a', 3],
    ],
  );
  map.set('c', 4);
  assert.deepEqual([...map.keys()], ['a', 'c']);
  map.delete('a');
  map.set('d', 5);
  assert.deepEqual([...map.keys()], ['c', 'd']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { consensusOrder } from './merge-discovery.ts';

test('the leading list keeps its order, which need not be alphabetical', () => {
  assert.deepEqual(
    consensusOrder([
      ['apps', 'events', 'autoscaling'],
      ['autoscaling', 'apps'],
    ]),
    ['apps', 'events', 'autoscaling'],
  );
});

test('what only another list has goes behind the neighbour it has there', () => {
  assert.deepEqual(
    consensusOrder([
      ['apps', 'policy'],
      ['apps', 'batch', 'policy', 'zoo'],
    ]),
    ['apps', 'batch', 'policy', 'zoo'],
  );
  assert.deepEqual(consensusOrder([['policy'], ['batch', 'policy']]), ['batch', 'policy']);
});

test('among names its list does not know it goes by name, so that sorted lists stay sorted', () => {
  assert.deepEqual(
    consensusOrder([
      ['a', 'c', 'e'],
      ['a', 'b'],
      ['a', 'd'],
    ]),
    ['a', 'b', 'c', 'd', 'e'],
  );
});

test('no lists give no names', () => {
  assert.deepEqual(consensusOrder([]), []);
});

const names = fc.array(fc.constantFrom(...'abcdefghij'));

test('every name comes once, and the names of the leading list in its order', () => {
  fc.assert(
    fc.property(fc.array(names, { minLength: 1 }), (lists) => {
      const order = consensusOrder(lists);
      assert.deepEqual(order.toSorted(), [...new Set(lists.flat())].sort());
      const leading = new Set(lists[0]);
      assert.deepEqual(
        order.filter((name) => leading.has(name)),
        [...leading],
      );
    }),
  );
});

test('lists that are all sorted give a sorted list', () => {
  fc.assert(
    fc.property(fc.array(names), (lists) => {
      const sorted = lists.map((list) => [...new Set(list)].sort());
      assert.deepEqual(consensusOrder(sorted), [...new Set(sorted.flat())].sort());
    }),
  );
});

test('two lists that do not contradict each other both keep their order', () => {
  const shuffled = fc.shuffledSubarray([...'abcdefghij'], { minLength: 10 });
  fc.assert(
    fc.property(shuffled, names, names, (total, one, two) => {
      const lists = [one, two].map((list) => total.filter((name) => list.includes(name)));
      const order = consensusOrder(lists);
      for (const list of lists) {
        assert.deepEqual(
          order.filter((name) => list.includes(name)),
          list,
        );
      }
    }),
  );
});

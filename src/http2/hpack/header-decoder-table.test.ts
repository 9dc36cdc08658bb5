import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { DynamicTable, defaultTableSize } from './header-decoder.ts';

function contents(table: DynamicTable): string[][] {
  return Array.from({ length: table.length }, (_, index) => [table.name(index), table.value(index)]);
}

test('the newest entry has the smallest index', () => {
  const table = new DynamicTable();
  table.add('a', '1');
  table.add('b', '2');
  assert.deepEqual(contents(table), [
    ['b', '2'],
    ['a', '1'],
  ]);
});

test('a new entry drives out as many of the oldest as it needs room', () => {
  const table = new DynamicTable();
  table.resize(3 * (2 + 32));
  for (const name of ['a', 'b', 'c']) table.add(name, '1');
  table.add('d', '22');
  assert.deepEqual(contents(table), [
    ['d', '22'],
    ['c', '1'],
  ]);
});

test('an entry larger than the whole table empties it, and is not in it', () => {
  const table = new DynamicTable();
  table.add('a', '1');
  table.add('b', 'x'.repeat(defaultTableSize - 32));
  assert.deepEqual(contents(table), []);
  table.add('c', 'x'.repeat(defaultTableSize - 33));
  assert.equal(table.length, 1);
});

test('made smaller it loses its oldest entries, and made larger again they stay lost', () => {
  const table = new DynamicTable();
  for (const name of ['a', 'b', 'c']) table.add(name, '1');
  table.resize(2 * 34 + 33);
  table.resize(defaultTableSize);
  assert.deepEqual(contents(table), [
    ['c', '1'],
    ['b', '1'],
  ]);
  table.resize(0);
  table.add('d', '');
  assert.deepEqual(contents(table), []);
});

test('after any operations it holds the newest entries that fit, and never more', () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ name: fc.string({ maxLength: 40 }), value: fc.string({ maxLength: 60 }) }),
    },
    { weight: 1, arbitrary: fc.integer({ min: 0, max: 400 }) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const table = new DynamicTable();
      let expected: string[][] = [];
      let maximum = defaultTableSize;
      for (const one of steps) {
        if (typeof one === 'number') {
          maximum = one;
          table.resize(one);
        } else {
          table.add(one.name, one.value);
          expected = [[one.name, one.value], ...expected];
        }
        let size = 0;
        const firstTooMuch = expected.findIndex((entry) => {
          size += entry.join('').length + 32;
          return size > maximum;
        });
        if (firstTooMuch !== -1) expected = expected.slice(0, firstTooMuch);
        assert.deepEqual(contents(table), expected);
      }
    }),
  );
});

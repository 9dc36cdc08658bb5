import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diffLines } from './file-change.ts';

const numbered = Array.from({ length: 12 }, (_, index) => String(index + 1));
const changed = (...places: readonly string[]) =>
  numbered.map((line) => (places.includes(line) ? `${line}!` : line));

const cases: readonly (readonly [string, readonly string[], readonly string[], string])[] = [
  ['equal texts have no difference', numbered, numbered, ''],
  ['nor have two that are empty', [], [], ''],
  ['a new file', [], ['a', 'b'], '+a\n+b\n'],
  ['a file that goes', ['a', 'b'], [], '-a\n-b\n'],
  [
    'changed lines stand in three lines of context',
    numbered,
    changed('1', '12'),
    '-1\n+1!\n 2\n 3\n 4\n...\n 9\n 10\n 11\n-12\n+12!\n',
  ],
  ['what is left out is left out', numbered, changed('6'), ' 3\n 4\n 5\n-6\n+6!\n 7\n 8\n 9\n...\n'],
];

for (const [name, before, after, expected] of cases) {
  test(name, () => assert.equal(diffLines(before, after), expected));
}

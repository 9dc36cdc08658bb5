import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { diffLines } from './file-change.ts';

const numbered = Array.from({ length: 12 }, (_, index) => String(index + 1));

test('equal texts have no difference', () => {
  assert.equal(diffLines(numbered, numbered), '');
  assert.equal(diffLines([], []), '');
});

test('a changed line stands in three lines of context, two far from each other in two hunks', () => {
  const changed = numbered.map((line) => (line === '1' || line === '10' ? `${line}!` : line));
  assert.equal(
    diffLines(numbered, changed),
    '@@ -1,4 +1,4 @@\n-1\n+1!\n 2\n 3\n 4\n@@ -7,6 +7,6 @@\n 7\n 8\n 9\n-10\n+10!\n 11\n 12\n',
  );
});

test('a new file begins at line 0 of nothing, and one that goes ends there', () => {
  assert.equal(diffLines([], ['a', 'b']), '@@ -0,0 +1,2 @@\n+a\n+b\n');
  assert.equal(diffLines(['a', 'b'], []), '@@ -1,2 +0,0 @@\n-a\n-b\n');
});

test('whatever the texts are, the hunks make the second of the first', () => {
  const text = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 30 });
  fc.assert(
    fc.property(text, text, (before, after) => {
      assert.deepEqual(patched(before, diffLines(before, after)), after);
    }),
  );
});

/** As patch(1): each hunk at its line, which has to hold what the hunk says. */
function patched(before: readonly string[], diff: string): readonly string[] {
  const result: string[] = [];
  let at = 0;
  for (const line of diff.split('\n').slice(0, -1)) {
    const [, start, count] = /^@@ -(\d+),(\d+) /.exec(line) ?? [];
    if (start !== undefined) {
      const begin = Number(start) - (count === '0' ? 0 : 1);
      result.push(...before.slice(at, begin));
      at = begin;
      continue;
    }
    if (line.startsWith('+')) result.push(line.slice(1));
    else {
      assert.equal(before[at], line.slice(1));
      if (line.startsWith(' ')) result.push(line.slice(1));
      at += 1;
    }
  }
  return [...result, ...before.slice(at)];
}

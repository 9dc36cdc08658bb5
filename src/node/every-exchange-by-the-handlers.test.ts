import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { wayIn } from '../../test/support/way-in.ts';

/*
 * Every test of an exchange through a server once more: with each request behind the fetch handler
 * (`--direct-lane=false`).
 */
wayIn.byLane = false;
const here = import.meta.dirname;
const files = globSync(
  ['transport-*.test.ts', 'server*.test.ts', 'short-writes.test.ts', '*-answer*.test.ts'],
  {
    cwd: here,
  },
);
// A pattern that matches nothing would test nothing.
assert.ok(files.length >= 15, files.join(', '));
for (const file of files.toSorted()) await import(`${here}/${file}`);

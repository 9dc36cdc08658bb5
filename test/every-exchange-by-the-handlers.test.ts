import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { join } from 'node:path';
import { wayIn } from './support/way-in.ts';

/*
 * Every test of an exchange through a server once more: with each request behind the fetch handler
 * (`--direct-lane=false`). In this folder, for it needs a process of its own: `wayIn` is one for all suites.
 */
wayIn.byLane = false;
const folder = join(import.meta.dirname, '../src/node');
const files = globSync(
  ['transport-*.test.ts', 'server*.test.ts', 'short-writes.test.ts', '*-answer*.test.ts'],
  {
    cwd: folder,
  },
);
// A pattern that matches nothing would test nothing.
assert.ok(files.length >= 15, files.join(', '));
for (const file of files.toSorted()) await import(`${folder}/${file}`);

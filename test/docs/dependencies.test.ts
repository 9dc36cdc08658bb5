import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './support/pages.ts';

const read = (path: string) => readFileSync(join(root, path), 'utf8');
const manifest = JSON.parse(read('package.json')) as Record<string, Readonly<Record<string, string>>>;

test('docs/explanation/dependencies.md says of every dependency what it is for, and of none that is gone', () => {
  const page = read('docs/explanation/dependencies.md');
  const names = ['dependencies', 'devDependencies', 'optionalDependencies'].flatMap((field) =>
    Object.keys(manifest[field] ?? {}),
  );
  const words = new Set(page.split(/[\s,|`]+/));
  assert.deepEqual(
    names.filter((name) => !words.has(name)),
    [],
  );
  const rows = [...page.matchAll(/^\| ([^|]+?) \|/gm)].flatMap(([, cell = '']) => cell.split(', '));
  assert.deepEqual(
    rows.filter(
      (cell) =>
        /^[@a-z]/.test(cell) && !['package', 'development only'].includes(cell) && !names.includes(cell),
    ),
    [],
  );
});

test('every dependency is named with its exact version', () => {
  for (const field of ['dependencies', 'devDependencies', 'optionalDependencies']) {
    for (const [name, version] of Object.entries(manifest[field] ?? {})) {
      assert.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name);
    }
  }
});

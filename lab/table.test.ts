import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, globSync } from 'node:fs';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { laboratory } from './table.ts';

const experiments = laboratory.flatMap((bench) => bench.experiments);
const run = (...args: readonly string[]) =>
  spawnSync(process.execPath, [join(import.meta.dirname, 'main.ts'), ...args], { encoding: 'utf8' });

test('the table names each experiment once, by a module that there is', () => {
  assert.equal(new Set(experiments.map(({ name }) => name)).size, experiments.length);
  for (const { module } of experiments) assert.ok(existsSync(join(import.meta.dirname, module)), module);
});

test('every main.ts of the laboratory is in the table', () => {
  const modules = new Set(experiments.map(({ module }) => module));
  const found = globSync('*/**/main.ts', { cwd: import.meta.dirname });
  assert.deepEqual(
    found.filter((path) => !modules.has(relative('.', path))),
    [],
  );
});

test('without a name the laboratory prints what there is, with a wrong one it says so and ends with 2', () => {
  const table = run();
  assert.equal(table.status, 0);
  for (const { name } of experiments) assert.match(table.stdout, new RegExp(`^ {2}${name} `, 'm'));
  const wrong = run('no-such');
  assert.equal(wrong.status, 2);
  assert.match(wrong.stderr, /There is no experiment "no-such"/);
});

test('an experiment gets the options that follow its name', () => {
  const { status, stdout } = run('quick', '--help');
  assert.equal(status, 0);
  assert.match(stdout, /^npm run lab -- quick \[options\]/);
});

import './virtual/globals.ts';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { quietSeeds } from './kept-seeds.ts';
import { planOf } from './plan/plan.ts';
import { plantedFaults } from './planted/planted-faults.ts';
import { assertKept } from './support.ts';
import { tripwire } from './virtual/tripwire.ts';

const { simulate } = await import('./simulate.ts');

test('every promise holds in a fixed set of clusters, and nothing but microtasks happens outside of virtual time', async () => {
  const wire = tripwire();
  for (const seed of quietSeeds) await assertKept(seed);
  wire.end();
  assert.deepEqual(wire.found(), []);
});

test('the same seed gives the same log in another process, with more turns of the event loop, and after other seeds', async () => {
  const [seed] = quietSeeds;
  const script = `
    import './virtual/globals.ts';
    const { simulate } = await import('./simulate.ts');
    const { planOf } = await import('./plan/plan.ts');
    const { digest } = await simulate(planOf(${seed}), { turns: 3 });
    console.log(digest);
    process.exit(0);
  `;
  const other = promisify(execFile)(
    process.execPath,
    ['--no-deprecation', '--input-type=module', '-e', script],
    {
      cwd: import.meta.dirname,
    },
  );
  const { digest } = await simulate(planOf(seed));
  assert.equal((await other).stdout.trim(), digest);
});

test('every fault that the simulation has to find still fits the program', () => {
  const root = join(import.meta.dirname, '..', '..');
  const lost = plantedFaults.filter(
    ({ file, text }) => !readFileSync(join(root, file), 'utf8').includes(text),
  );
  assert.deepEqual(
    lost.map(({ name, file }) => `${name}: ${file}`),
    [],
  );
});

import './virtual/globals.ts';
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { keptSeeds, quietSeeds } from './kept-seeds.ts';
import { planOf } from './plan/plan.ts';
import { storyOf } from './plan/words.ts';
import { tripwire } from './virtual/tripwire.ts';

const { simulate } = await import('./simulate.ts');

const told = (seed: number, text: string) => `seed ${seed}: ${text}\n${storyOf(planOf(seed)).join('\n')}`;

for (const { seed, was } of keptSeeds) {
  test(`every promise holds in seed ${seed}, in which once ${was}`, async () => {
    const { violations } = await simulate(planOf(seed), { stopsAtViolation: true });
    assert.deepEqual(
      violations.map(({ kind, text }) => told(seed, `${kind}: ${text}`)),
      [],
    );
  });
}

test('every promise holds in a fixed set of clusters', async () => {
  for (const seed of quietSeeds) {
    const { violations } = await simulate(planOf(seed), { stopsAtViolation: true });
    assert.deepEqual(
      violations.map(({ kind, text }) => told(seed, `${kind}: ${text}`)),
      [],
    );
  }
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

test('nothing but microtasks happens outside of virtual time', async () => {
  const wire = tripwire();
  for (const seed of quietSeeds.slice(0, 3)) await simulate(planOf(seed));
  wire.end();
  assert.deepEqual(wire.found(), []);
});

import assert from 'node:assert/strict';
import { planOf } from './plan/plan.ts';
import { storyOf } from './plan/words.ts';
import { simulate } from './simulate.ts';

/** @throws with the story of the seed, if a promise is broken in it */
export async function assertKept(seed: number): Promise<void> {
  const plan = planOf(seed);
  const { violations } = await simulate(plan, { stopsAtViolation: true });
  assert.deepEqual(
    violations.map(({ kind, text }) => `seed ${seed}: ${kind}: ${text}\n${storyOf(plan).join('\n')}`),
    [],
  );
}

import { SeededRandom } from '../../scripts/experiment/seeded-random.ts';

/** In place of `Math.random`: numbers that follow from the seed, and so are the same in each run. */
export function seededRandom(seed: number): () => number {
  const random = new SeededRandom(seed);
  return () => random.next();
}

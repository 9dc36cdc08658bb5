/**
 * The generation of the next snapshot.
 *
 * With a snapshot to go on from it is one more. Without (first start, or state lost) it is the time in seconds
 * since the epoch: snapshots change less than once a second on average, so this is more than any generation
 * that an earlier run or another leader reached from such a start. `held` raises both: the highest generation
 * that a router is known to hold (its answer 409), should clocks have been wrong.
 *
 * @param now milliseconds since the epoch
 */
export function nextGeneration(previous: number | undefined, held: number | undefined, now: number): number {
  const generation = previous === undefined ? Math.max(1, Math.floor(now / 1000)) : previous + 1;
  return held === undefined ? generation : Math.max(generation, held + 1);
}

/** Milliseconds before a process is started again that ended for the first time. */
const shortest = 200;
const longest = 30_000;

/** Milliseconds that a process has to run before its earlier ends are forgotten. */
export const steadyAfter = 60_000;

/**
 * How long to wait before a process is started again: doubling from 0.2 s to 30 s, and of that at random between a half
 * and the whole, so that processes that end for one reason do not come back all at once. Pure.
 * @param endsInARow how often it has ended lately, this time included; from 1 on
 * @param random in [0, 1)
 */
export function restartDelay(endsInARow: number, random: number): number {
  const whole = Math.min(longest, shortest * 2 ** (endsInARow - 1));
  return Math.round(whole * (0.5 + random / 2));
}

import type { Clock } from './clock.ts';

/** A clock whose `now` does not follow when the machine's clock is set back. */
export interface SteadyClock extends Clock {
  /**
   * Tells that somebody with a clock of their own took `time`, in milliseconds since the epoch, for not in the
   * future. From then on `now` is at least that time and what has passed since.
   */
  vouch(time: number): void;
}

/**
 * Times in snapshots decide how long routers go by them: made by a clock that was set back an hour, a renewal
 * would be older than the one before and every router would let its snapshot expire. What a router has taken is
 * a time that two clocks agreed on, so time goes on from there. Without such a word the machine's clock counts,
 * for it may just as well have been wrong before and right now.
 */
export function steadyClock(clock: Clock): SteadyClock {
  /** Difference between the wall clock and the monotonic one, at the latest time that was vouched for. */
  let offset = Number.NEGATIVE_INFINITY;
  return {
    monotonic: () => clock.monotonic(),
    sleep: (milliseconds, signal) => clock.sleep(milliseconds, signal),
    random: () => clock.random(),
    now: () => Math.max(clock.now(), Math.ceil(offset + clock.monotonic())),
    vouch(time) {
      offset = Math.max(offset, time - clock.monotonic());
    },
  };
}

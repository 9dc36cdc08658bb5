/** Time and chance, injected so that tests hold both. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Milliseconds that only ever rise, from any beginning: for durations, since `now` may be set back. */
  monotonic(): number;
  /** Resolves after that many milliseconds, or at once when `signal` aborts; it never rejects. */
  sleep(milliseconds: number, signal: AbortSignal): Promise<void>;
  /** In [0, 1). */
  random(): number;
}

/**
 * The clock of the machine.
 *
 * @example
 * ```ts
 * const begun = systemClock.monotonic();
 * await systemClock.sleep(1, signal);
 * console.log(systemClock.monotonic() > begun); // true
 * ```
 */
export const systemClock: Clock = {
  now: Date.now,
  monotonic: () => performance.now(),
  random: Math.random,
  sleep: (milliseconds, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) {
        resolve();
        return;
      }
      const finish = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', finish);
        resolve();
      };
      const timer = setTimeout(finish, milliseconds);
      signal.addEventListener('abort', finish);
    }),
};

/**
 * Waits for `task`, but no longer than `milliseconds`, and no longer than until `signal` aborts. The task goes on.
 *
 * @throws what the task throws in that time
 */
export async function waitAtMost<Result>(
  task: Promise<Result>,
  milliseconds: number,
  clock: Pick<Clock, 'sleep'>,
  signal: AbortSignal,
): Promise<Result | 'timed-out'> {
  const decided = new AbortController();
  const timer = clock.sleep(milliseconds, AbortSignal.any([signal, decided.signal]));
  // A task that fails after its time is ignored.
  task.catch(() => {});
  try {
    return await Promise.race([task, timer.then(() => 'timed-out' as const)]);
  } finally {
    decided.abort();
  }
}

export interface BackOff {
  /** Wait after the first failure, milliseconds; it doubles with every further one. */
  readonly initialMilliseconds: number;
  readonly maximumMilliseconds: number;
}

/**
 * Wait after so many failures in a row (at least 1): doubling, capped, and drawn from its upper half, so that
 * several sync jobs and targets that failed together do not come back together.
 */
export function backOffDelay(backOff: BackOff, failures: number, random: number): number {
  const exponential = backOff.initialMilliseconds * 2 ** Math.min(failures - 1, 30);
  const delay = Math.min(exponential, backOff.maximumMilliseconds);
  return delay / 2 + (random * delay) / 2;
}

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
  /** Difference between the wall clock and the monotonic one, at the latest confirmed time. */
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

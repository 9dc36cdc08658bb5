/** Runs a task as soon as fewer than the limit are running. */
type Limiter = <Result>(task: () => Promise<Result>) => Promise<Result>;

/** @param limit how many tasks may run at once; at least 1 */
export function createLimiter(limit: number): Limiter {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (task) => {
    // A finished task passes its place to the next in the queue, so that no newcomer overtakes it.
    if (running < limit) running++;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await task();
    } finally {
      const next = waiting.shift();
      if (next === undefined) running--;
      else next();
    }
  };
}

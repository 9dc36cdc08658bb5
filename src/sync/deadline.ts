/**
 * Runs a task that is told to give up, and is no longer waited for, when the time is over or `signal` aborts.
 *
 * @throws what `timedOut` makes, or the reason of `signal`, or what the task throws
 */
export async function withDeadline<Result>(
  milliseconds: number,
  signal: AbortSignal | undefined,
  timedOut: () => Error,
  task: (signal: AbortSignal) => Promise<Result>,
): Promise<Result> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(timedOut()), milliseconds);
  const either = signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]);
  try {
    either.throwIfAborted();
    return await new Promise<Result>((resolve, reject) => {
      // Whoever does the task may not listen to the signal: nothing must hang with it.
      either.addEventListener('abort', () => reject(either.reason), { once: true });
      task(either).then(resolve, reject);
    });
  } finally {
    clearTimeout(timer);
  }
}

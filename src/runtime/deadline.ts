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
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  // The task may ignore the signal, and must not block its caller then.
  const giveUp = () => reject(either.reason);
  either.addEventListener('abort', giveUp);
  try {
    either.throwIfAborted();
    task(either).then(resolve, reject);
    return await promise;
  } finally {
    clearTimeout(timer);
    // A combined signal that is listened to is kept as long as those it is made of: here, for ever.
    either.removeEventListener('abort', giveUp);
  }
}

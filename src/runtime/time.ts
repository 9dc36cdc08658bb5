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

const { timeOrigin } = performance;

/** Milliseconds of a clock that only rises, from any beginning. */
export const monotonicNow = (): number => performance.now();

/** Milliseconds of a clock that only rises and that nobody sets, since about the epoch. */
export const steadyNow = (): number => timeOrigin + performance.now();

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: monotonicNow,
  random: () => Math.random(),
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
      // `setTimeout` makes a longer time one of 1 ms. A caller that sleeps for longer looks again, and sleeps on.
      const timer = setTimeout(finish, Math.min(milliseconds, 0x7fffffff));
      signal.addEventListener('abort', finish);
    }),
};

/** Until `task` ends, the time is over or `signal` aborts. The task goes on. @throws what it throws until then */
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
 * Doubling, capped, and drawn from its upper half, so that several sync jobs and targets that failed together do not come
 * back together. @param failures in a row, at least 1
 */
export function backOffDelay(backOff: BackOff, failures: number, random: number): number {
  const exponential = backOff.initialMilliseconds * 2 ** Math.min(failures - 1, 30);
  const delay = Math.min(exponential, backOff.maximumMilliseconds);
  return delay / 2 + (random * delay) / 2;
}

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

/** Lets everything that waits have its turn: work that takes tens of milliseconds must not hold up requests. */
export function pause(milliseconds = 0): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, milliseconds);
  });
}

/** How long snapshot work may hold the event loop at a time, milliseconds: requests and watches go on in between. */
const sliceMilliseconds = 4;

export interface TimeSlice {
  /** To be awaited between pieces of work of a millisecond or less; lets others run when the slice is used up. */
  rest(): Promise<void> | undefined;
}

/**
 * Short work never rests. On runtimes whose clock stands still while code runs (Workers, against timing attacks) none rests;
 * nothing else runs there in between.
 *
 * @param urgency `in seconds`: three quarters of the time are left to requests, and to other programs, such as a
 *   kube-apiserver that starts. Default `now`
 */
export function createTimeSlice(urgency: 'now' | 'in seconds' = 'now'): TimeSlice {
  const restMilliseconds = urgency === 'now' ? 0 : 3 * sliceMilliseconds;
  let begun = performance.now();
  return {
    rest() {
      if (performance.now() - begun < sliceMilliseconds) return undefined;
      return pause(restMilliseconds).then(() => {
        begun = performance.now();
      });
    },
  };
}

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

// RFC 3339 section 5.6 date-time. Leap seconds (`:60`) are left out: neither Go's time.RFC3339 nor
// ECMAScript can read them back.
const dateTime =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** Milliseconds since the epoch of an RFC 3339 time, or `undefined` when `text` is none. */
export function parseRfc3339(text: string): number | undefined {
  const match = dateTime.exec(text);
  if (match === null) return undefined;
  const [, year, month, day] = match;
  // Date.parse reads 30 February as 2 March; such a day does not come back from its own date.
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  if (Number.isNaN(date.getTime()) || date.getUTCDate() !== Number(day)) return undefined;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? undefined : milliseconds;
}

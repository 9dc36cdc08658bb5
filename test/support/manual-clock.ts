import { createHook } from 'node:async_hooks';
import type { TestContext } from 'node:test';
import type { Clock } from '../../src/runtime/time.ts';

interface ManualClock extends Clock {
  /** Lets time pass, ending the sleeps that it covers in their order, each with what follows from it. */
  advance(milliseconds: number): Promise<void>;
  /** Sets what `now` says by so much without any time passing, as an administrator or NTP does. */
  setBack(milliseconds: number): void;
  /** How long everybody who sleeps now meant to sleep, in milliseconds from when they began. */
  readonly sleeping: readonly number[];
}

interface Sleeper {
  readonly wakesAt: number;
  readonly asked: number;
  wake(): void;
}

/** A clock that stands still until it is moved. `random` is 0.5 unless given. */
export function manualClock(start = Date.UTC(2026, 0, 31), random: () => number = () => 0.5): ManualClock {
  let elapsed = 0;
  let wall = start;
  const sleepers = new Set<Sleeper>();
  return {
    now: () => wall + elapsed,
    monotonic: () => elapsed,
    random,
    setBack(milliseconds) {
      wall -= milliseconds;
    },
    sleep: (milliseconds, signal) =>
      new Promise((resolve) => {
        if (signal.aborted) {
          resolve();
          return;
        }
        const sleeper: Sleeper = {
          wakesAt: elapsed + milliseconds,
          asked: milliseconds,
          wake() {
            sleepers.delete(sleeper);
            signal.removeEventListener('abort', sleeper.wake);
            resolve();
          },
        };
        sleepers.add(sleeper);
        signal.addEventListener('abort', sleeper.wake);
      }),
    get sleeping() {
      return [...sleepers].map(({ asked }) => asked);
    },
    async advance(milliseconds) {
      const end = elapsed + milliseconds;
      await settle();
      for (;;) {
        const [next] = [...sleepers].sort((one, other) => one.wakesAt - other.wakesAt);
        if (next === undefined || next.wakesAt > end) break;
        elapsed = Math.max(elapsed, next.wakesAt);
        next.wake();
        await settle();
      }
      elapsed = end;
    },
  };
}

/**
 * WebCrypto that is under way, and pauses that only let others have their turn. How many turns of the event loop these take
 * depends on how busy the machine is.
 */
const underWay = new Set<number>();
const webCrypto = new Set(['HASHREQUEST', 'SIGNREQUEST', 'VERIFYREQUEST']);
createHook({
  init(id, type, _trigger, resource) {
    const isPause = type === 'Timeout' && '_idleTimeout' in resource && resource._idleTimeout === 1;
    if (isPause || webCrypto.has(type)) underWay.add(id);
  },
  after: (id) => underWay.delete(id),
  destroy: (id) => underWay.delete(id),
  trackPromises: false,
}).enable();

/** Lets everything run that waits for nothing but other work in memory (WebCrypto included). */
export async function settle(): Promise<void> {
  for (let quietTurns = 0; quietTurns < 20; quietTurns++) {
    await new Promise((resolve) => setImmediate(resolve));
    if (underWay.size > 0) quietTurns = 0;
  }
}

/** A pause that only lets others have their turn ends by itself. */
export function mockTimersOfSomeLength({ mock }: TestContext): void {
  const { setTimeout: realSetTimeout } = globalThis;
  mock.timers.enable({ apis: ['setTimeout'] });
  const mocked = globalThis.setTimeout;
  globalThis.setTimeout = Object.assign(
    (callback: () => void, milliseconds = 0) =>
      (milliseconds === 0 ? realSetTimeout : mocked)(callback, milliseconds),
    mocked,
  );
}

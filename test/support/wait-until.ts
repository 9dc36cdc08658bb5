import { setTimeout as sleep } from 'node:timers/promises';

interface WaitOptions {
  /** Milliseconds. Default two minutes: real servers take seconds to start, and more on a busy machine. */
  readonly within?: number;
  /** Milliseconds between two looks. Default 100. */
  readonly every?: number;
}

/**
 * Waits for something that processes bring about; what throws is tried again.
 *
 * @throws with the last failure once the time is over
 */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  { within = 120_000, every = 100 }: WaitOptions = {},
): Promise<void> {
  const giveUpAt = Date.now() + within;
  for (;;) {
    let failure: unknown;
    try {
      if (await condition()) return;
    } catch (error) {
      failure = error;
    }
    if (Date.now() > giveUpAt) throw new Error(`never came true: ${what}`, { cause: failure });
    await sleep(every);
  }
}

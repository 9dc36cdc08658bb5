import { setTimeout as sleep } from 'node:timers/promises';

/** Real servers take seconds to start, and more on a busy machine. Milliseconds. */
export const startDeadline = 120_000;
const pollInterval = 100;

/**
 * Waits for something that real processes bring about; what throws is tried again.
 * @throws with the last failure once the deadline has passed
 */
export async function waitUntil(
  what: string,
  condition: () => boolean | Promise<boolean>,
  deadline: number = startDeadline,
): Promise<void> {
  const giveUpAt = Date.now() + deadline;
  for (;;) {
    let failure: unknown;
    try {
      if (await condition()) return;
    } catch (error) {
      failure = error;
    }
    if (Date.now() > giveUpAt) throw new Error(`never came true: ${what}`, { cause: failure });
    await sleep(pollInterval);
  }
}

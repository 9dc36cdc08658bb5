import { setTimeout as sleep } from 'node:timers/promises';

/** Milliseconds between two looks at what has been started. */
const interval = 500;

/** @param reasonNot why it is not so yet @throws {InstallationRefused} with the last reason */
export async function waitUntil(
  timeout: number,
  reasonNot: () => Promise<string | undefined>,
): Promise<void> {
  const giveUpAt = performance.now() + timeout;
  for (;;) {
    const reason = await reasonNot();
    if (reason === undefined) return;
    if (performance.now() > giveUpAt) {
      throw new InstallationRefused(`${reason} (waited ${Math.round(timeout / 1000)} s)`);
    }
    await sleep(interval);
  }
}

/** What stands in the way. The message tells what to do. */
export class InstallationRefused extends Error {
  override readonly name = 'InstallationRefused';
}

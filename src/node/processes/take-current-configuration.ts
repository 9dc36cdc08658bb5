import type { CredentialWatch } from '../reload/credential-watch.ts';

/**
 * For a process that takes another's place, before it listens. It was started with the configuration of the router's
 * start, which the others may have left long ago: who has lost a right since then must not have it back, neither until
 * the next look at the files nor for as long as the configuration file is at fault.
 * @throws when the configuration file is at fault: the others go by an earlier one that is not to be had any more
 */
export async function takeCurrentConfiguration(
  watch: Pick<CredentialWatch, 'reload' | 'status'>,
): Promise<void> {
  await watch.reload();
  const fault = watch.status.keyFiles().find(({ name }) => name === 'config')?.lastError;
  if (typeof fault !== 'string') return;
  throw new Error(`a process starts only with a configuration file that has no fault: correct it: ${fault}`);
}

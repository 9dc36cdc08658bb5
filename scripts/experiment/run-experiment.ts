import { withCleanup } from '../bench/harness/cleanup.ts';
import { runMain } from '../bench/harness/command-line.ts';

/** Runs the main function of an experiment; told to end, it exits, and its processes end with it. */
export async function runExperiment(main: () => Promise<number>): Promise<void> {
  // Not left to Node's own clean-up, which has been seen to turn round for ever over TLS sockets that were destroyed
  // while they wrote (Environment::CleanupHandles, Node 26.10).
  process.once('exit', (code) => process.exit(code));
  await runMain(() => withCleanup(main));
}

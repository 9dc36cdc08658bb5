import { withCleanup } from '../bench/harness/cleanup.ts';
import { runMain } from '../bench/harness/command-line.ts';

/** Runs the main function of an experiment; told to end, it exits, and its processes end with it. */
export function runExperiment(main: () => Promise<number>): Promise<void> {
  return runMain(() => withCleanup(main));
}

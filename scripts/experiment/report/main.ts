/**
 * Makes the tables and plots of docs/explanation/upgrade-experiment.md anew from bench/results: `npm run
 * experiment:report`.
 */
import { runMain } from '../../harness/command-line.ts';
import { writeExperimentReport } from './write-experiment-report.ts';

await runMain(async () => {
  await writeExperimentReport();
  return 0;
});

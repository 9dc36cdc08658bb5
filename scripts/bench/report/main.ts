/** Makes the tables and the plot of docs/explanation/performance.md anew from bench/results: `npm run bench:report`. */
import { runMain } from '../../harness/command-line.ts';
import { writeReport } from './write-report.ts';

await runMain(async () => {
  await writeReport();
  return 0;
});

/**
 * Whether the router has become slower: the main workloads beside one rival, compared with the ratios that were last
 * recorded. `npm run bench:quick`; ends with 1 when it has, with 2 when there is nothing to compare with.
 */
import { join } from 'node:path';
import { runMain, UsageError } from '../../harness/command-line.ts';
import { findProgram } from '../../harness/programs.ts';
import { readResults, resultsDirectory } from '../../harness/results-file.ts';
import { spreadText } from '../../report/format.ts';
import { terminalTable } from '../../report/text-table.ts';
import type { ContenderName } from '../rivals/contender.ts';
import { throughputResultsSchema } from '../throughput/results.ts';
import { runThroughput } from '../throughput/run-throughput.ts';
import type { WorkloadName } from '../throughput/workloads.ts';
import { compareWithRecorded } from './compare.ts';

const workloads: readonly WorkloadName[] = ['http1-get', 'http2-get'];

/** The rival and the program that it needs, the preferred first. */
const rivals: readonly (readonly [ContenderName, string])[] = [
  ['go', 'go'],
  ['nginx', 'nginx'],
  ['haproxy', 'haproxy'],
];

await runMain(async () => {
  const rival = rivals.find(([, program]) => findProgram(program) !== undefined)?.[0];
  if (rival === undefined)
    throw new UsageError('Install Go, nginx or HAProxy: there is nothing to compare with.');
  const path = join(resultsDirectory, 'throughput.json');
  const recorded = await readResults(path, throughputResultsSchema);
  if (recorded === undefined) throw new UsageError('Nothing has been recorded yet: npm run bench records.');
  const contenders = ['router', rival] as const;
  const now = await runThroughput({
    workloads,
    contenders,
    rounds: 2,
    passes: 5,
    seconds: 0.8,
    tell: console.log,
  });
  const comparisons = compareWithRecorded(now, recorded.workloads, workloads, rival);
  const headings = ['', `CPU × ${rival} now`, 'recorded', 'noise', ''];
  const rows = comparisons.map(({ workload, now: ratio, recorded: before, band, verdict }) => {
    const noise = `${band.from.toFixed(2)}–${band.to.toFixed(2)}`;
    return [workload, spreadText(ratio), spreadText(before), noise, verdict];
  });
  console.log(`\n${terminalTable([headings, ...rows])}`);
  if (comparisons.length < workloads.length) {
    throw new UsageError(
      `Not every workload was measured, or recorded with ${rival}: npm run bench records.`,
    );
  }
  return comparisons.some(({ verdict }) => verdict === 'slower') ? 1 : 0;
});

/**
 * Tells if the router has become slower: the main workloads beside Go's proxy, compared with ratios that were recorded
 * in the same way, or with another revision in the same run. `npm run lab -- quick`; ends with 1 when it has, with 2
 * when there is nothing to compare with.
 */
import { writeGenerated } from '../../../scripts/generate/generated-file.ts';
import { namesFrom, runExperiment, UsageError } from '../../harness/command-line.ts';
import { readResults, writeResults } from '../../harness/results-file.ts';
import { terminalTable } from '../../report/text-table.ts';
import { benchReport } from '../report/bench-report.ts';
import { type ThroughputRound, throughputResultsSchema } from '../throughput/results.ts';
import { runThroughput } from '../throughput/run-throughput.ts';
import { throughputRows } from '../throughput/throughput-table.ts';
import { workloadNames } from '../throughput/workloads.ts';
import { measureAgainst } from './against.ts';
import { compareWithRecorded } from './compare.ts';
import { comparisonRows } from './comparison-table.ts';
import { differencesBetween, quickConditions, quickRounds, quickWorkloads } from './conditions.ts';

const options = {
  record: {
    type: 'boolean',
    default: false,
    about: `measures ${quickRounds.recording} rounds and keeps them in lab/bench/results/quick.json; else ${quickRounds.comparison} rounds are measured and compared`,
  },
  against: {
    type: 'string',
    value: 'REVISION',
    about: `measures this tree and that commit in one run instead, ${quickRounds.against} rounds: tells a change of the code from one of the machine`,
  },
  workload: {
    type: 'string',
    value: 'LIST',
    about: `with --against, what is measured: ${workloadNames.join(', ')} (${quickWorkloads.join(', ')})`,
  },
} as const;

await runExperiment('quick', options, async ({ record, against, workload }) => {
  if (workload !== undefined && against === undefined) throw new UsageError('--workload needs --against.');
  if (against !== undefined) {
    if (record) throw new UsageError('--record and --against are two runs: choose one.');
    const chosen = workload === undefined ? quickWorkloads : namesFrom('workload', workload, workloadNames);
    return measureAgainst(against, chosen);
  }
  const recorded = record ? undefined : (await readResults('quick', throughputResultsSchema))?.workloads;
  if (!record && recorded === undefined) {
    throw new UsageError('Nothing has been recorded yet: npm run lab -- quick --record does.');
  }
  const hasBoth = ({ contenders }: ThroughputRound): boolean =>
    contenders.router !== undefined && contenders.go !== undefined;
  const now = await runThroughput({
    ...quickConditions,
    workloads: quickWorkloads,
    contenders: ['router', 'go'],
    rounds: record ? quickRounds.recording : quickRounds.comparison,
  });
  if (!quickWorkloads.every((workload) => now[workload]?.rounds.some(hasBoth))) {
    throw new Error('Not every workload could be measured with both; what failed stands above.');
  }
  if (recorded === undefined) {
    await writeResults('quick', throughputResultsSchema, { kind: 'throughput', workloads: now });
    await writeGenerated(benchReport);
    for (const [name, measured] of Object.entries(now)) {
      console.log(`\n${name}\n${terminalTable(throughputRows(measured))}`);
    }
    return 0;
  }
  const comparisons = compareWithRecorded(now, recorded, quickWorkloads);
  const { decisive, worthKnowing } = differencesBetween(now, recorded);
  if (decisive.length > 0) {
    throw new UsageError(
      `What is recorded was measured in another way (${decisive.join('; ')}): npm run lab -- quick --record records anew.`,
    );
  }
  if (comparisons.length < quickWorkloads.length) {
    throw new UsageError(
      'What is recorded lacks figures of a workload: npm run lab -- quick --record records anew.',
    );
  }
  console.log(`\n${terminalTable(comparisonRows(comparisons))}`);
  for (const difference of worthKnowing) console.log(`Not the same as recorded: ${difference}.`);
  if (!comparisons.some(({ verdict }) => verdict === 'slower')) return 0;
  console.log(
    'Is it the code or the machine? npm run lab -- quick --against REVISION measures both trees in one run.',
  );
  return 1;
});

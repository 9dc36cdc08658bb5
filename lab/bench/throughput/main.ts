/** The router and its rivals side by side: `npm run lab -- bench`, docs/explanation/performance.md. */
import { writeGenerated } from '../../../scripts/generate/generated-file.ts';
import { countFrom, namesFrom, runExperiment, secondsFrom } from '../../harness/command-line.ts';
import { readResults, writeResults } from '../../harness/results-file.ts';
import { terminalTable } from '../../report/text-table.ts';
import { benchReport } from '../report/bench-report.ts';
import { contenderNames } from '../rivals/contender.ts';
import { throughputResultsSchema } from './results.ts';
import { runThroughput } from './run-throughput.ts';
import { throughputRows } from './throughput-table.ts';
import { workloadNames, workloads } from './workloads.ts';

await runExperiment(
  'bench',
  {
    rounds: {
      type: 'string',
      value: 'N',
      about: 'fresh processes of every contender (3); every other round in reverse order',
    },
    passes: {
      type: 'string',
      value: 'N',
      about: 'how often each contender is measured with each workload in each round (4)',
    },
    'warm-up': {
      type: 'string',
      value: 'N',
      about: 'seconds of load in each pass before anything counts (1)',
    },
    seconds: {
      type: 'string',
      value: 'N',
      about: 'of each pass that count (0.4); at a fixed rate five times as many',
    },
    workload: {
      type: 'string',
      value: 'LIST',
      about: `${workloadNames.join(', ')} (all); what else has been recorded stays`,
    },
    only: {
      type: 'string',
      value: 'LIST',
      about: `${contenderNames.join(', ')} (all); figures are then shown, not recorded`,
    },
    quick: { type: 'boolean', default: false, about: 'one round of two passes; shown, not recorded' },
  },
  async (values) => {
    const { quick, only } = values;
    const results = await runThroughput({
      workloads: namesFrom('workload', values.workload, workloadNames),
      contenders: namesFrom('only', only, contenderNames),
      rounds: countFrom('rounds', values.rounds ?? (quick ? '1' : '3')),
      passes: countFrom('passes', values.passes ?? (quick ? '2' : '4')),
      warmUp: secondsFrom('warm-up', values['warm-up'] ?? '1'),
      seconds: secondsFrom('seconds', values.seconds ?? '0.4'),
    });
    for (const { name, title } of workloads) {
      const measured = results[name];
      if (measured !== undefined) console.log(`\n${title}\n${terminalTable(throughputRows(measured))}`);
    }
    if (only !== undefined || quick) return 0;
    const recorded = (await readResults('throughput', throughputResultsSchema))?.workloads ?? {};
    await writeResults('throughput', throughputResultsSchema, {
      kind: 'throughput',
      workloads: { ...recorded, ...results },
    });
    await writeGenerated(benchReport);
    return 0;
  },
);

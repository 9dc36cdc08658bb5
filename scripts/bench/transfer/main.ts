/** What a slow reader of a large answer makes a proxy hold. `npm run bench:transfer`. */
import { writeGenerated } from '../../generate/generated-file.ts';
import { withCleanup } from '../../harness/cleanup.ts';
import { countFrom, namesFrom, runMainWithOptions } from '../../harness/command-line.ts';
import { writeResults } from '../../harness/results-file.ts';
import { terminalTable } from '../../report/text-table.ts';
import { inRounds, openBench } from '../open-bench.ts';
import { benchReport } from '../report/bench-report.ts';
import { type ContenderName, contenderNames } from '../rivals/contender.ts';
import { measureTransfer } from './measure-transfer.ts';
import { type TransferResults, transferResultsSchema } from './transfer-results.ts';
import { transferRows } from './transfer-table.ts';

const usage = `npm run bench:transfer -- [options]
  --rounds N          fresh processes of each (2)
  --slow-megabytes N  that the slow reader reads, at most 100 (100)
  --slow-rate N       MB that it reads a second (1)
  --only LIST         contenders; figures are then shown, not recorded (router, nginx, go)`;

const defaultContenders: readonly ContenderName[] = ['router', 'nginx', 'go'];

await runMainWithOptions(
  usage,
  {
    rounds: { type: 'string', default: '2' },
    'slow-megabytes': { type: 'string', default: '100' },
    'slow-rate': { type: 'string', default: '1' },
    only: { type: 'string' },
  },
  async (values) => {
    const names =
      values.only === undefined ? defaultContenders : namesFrom('only', values.only, contenderNames);
    const rounds = countFrom('rounds', values.rounds);
    const slowMegabytes = countFrom('slow-megabytes', values['slow-megabytes']);
    const slowRate = countFrom('slow-rate', values['slow-rate']);
    const results = await withCleanup(async (cleanup): Promise<TransferResults> => {
      const { bench, entrants, measurement } = await openBench(names, cleanup);
      const slow = { slowMegabytes, slowRate };
      const measured = await inRounds(rounds, entrants, (contender) =>
        measureTransfer(contender, bench, slow),
      );
      return { kind: 'transfer', ...measurement, ...slow, rounds: measured };
    });
    console.log(`\n${terminalTable(transferRows(results))}`);
    if (values.only !== undefined) return 0;
    await writeResults('transfer', transferResultsSchema, results);
    await writeGenerated(benchReport);
    return 0;
  },
);

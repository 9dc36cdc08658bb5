/** Large answers: how fast they come through, and what a slow reader of one costs. `npm run bench:transfer`. */
import { writeGenerated } from '../../generate/generated-file.ts';
import { withCleanup } from '../../harness/cleanup.ts';
import { countFrom, namesFrom, runMainWithOptions } from '../../harness/command-line.ts';
import { chooseCores, describeMachine } from '../../harness/machine.ts';
import { writeResults } from '../../harness/results-file.ts';
import { terminalTable } from '../../report/text-table.ts';
import { benchReport } from '../report/bench-report.ts';
import { startBackend } from '../rivals/backend.ts';
import { type ContenderName, contenderNames } from '../rivals/contender.ts';
import { enter } from '../rivals/contenders.ts';
import { createWorkbench } from '../workbench.ts';
import { measureTransfer } from './measure-transfer.ts';
import { type TransferFigures, type TransferResults, transferResultsSchema } from './transfer-results.ts';
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
    const machine = describeMachine();
    const results = await withCleanup(async (cleanup): Promise<TransferResults> => {
      const workbench = await createWorkbench(cleanup);
      const { entrants, missing } = await enter(names, workbench);
      if (missing.length > 0) console.log(`Not installed, left out: ${missing.join(', ')}.`);
      const cores = chooseCores();
      const backend = await startBackend(workbench, cleanup, cores.others);
      const measured: TransferResults['rounds'] = [];
      for (let round = 0; round < rounds; round++) {
        const figures: Partial<Record<ContenderName, TransferFigures>> = {};
        for (const { contender } of round % 2 === 0 ? entrants : entrants.toReversed()) {
          console.log(`round ${round + 1}: ${contender.title}`);
          const options = { workbench, backend, cores, seconds: 3, slowMegabytes, slowRate };
          figures[contender.name] = await measureTransfer(contender, options);
        }
        measured.push(figures);
      }
      return {
        kind: 'transfer',
        measuredAt: new Date().toISOString(),
        machine,
        slowMegabytes,
        slowRate,
        versions: Object.fromEntries(entrants.map(({ contender, version }) => [contender.name, version])),
        rounds: measured,
      };
    });
    console.log(`\n${terminalTable(transferRows(results))}`);
    if (values.only !== undefined) return 0;
    await writeResults('transfer', transferResultsSchema, results);
    await writeGenerated(benchReport);
    return 0;
  },
);

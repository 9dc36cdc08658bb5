/**
 * Costs of idle watches: memory for each, and how long an event takes to reach all. `npm run lab -- watches`,
 * docs/explanation/performance.md.
 */
import { writeGenerated } from '../../../scripts/generate/generated-file.ts';
import { withCleanup } from '../../harness/cleanup.ts';
import { countFrom, namesFrom, runExperiment } from '../../harness/command-line.ts';
import { openFileLimit } from '../../harness/open-files.ts';
import { readResults, writeResults } from '../../harness/results-file.ts';
import { terminalTable } from '../../report/text-table.ts';
import { inRounds, openBench } from '../open-bench.ts';
import { benchReport } from '../report/bench-report.ts';
import { type Contender, contenderNames } from '../rivals/contender.ts';
import { measureWatches } from './measure-watches.ts';
import { type WatchMode, type WatchResults, watchModes, watchResultsSchema } from './watch-results.ts';
import { watchRows } from './watch-table.ts';

await runExperiment(
  'watches',
  {
    watches: { type: 'string', default: '10000', value: 'N', about: 'how many are open at once' },
    'per-connection': {
      type: 'string',
      default: '50',
      value: 'N',
      about: 'of them share a connection of an HTTP/2 client',
    },
    modes: { type: 'string', value: 'LIST', about: 'http2, http1: how clients speak (both)' },
    events: {
      type: 'string',
      default: '15',
      value: 'N',
      about: 'events that are sent to all, after 15 that do not count',
    },
    rounds: { type: 'string', default: '2', value: 'N', about: 'fresh processes of each' },
    only: { type: 'string', value: 'LIST', about: 'contenders; figures are then shown, not recorded (all)' },
  },
  async (values) => {
    const modes = namesFrom('modes', values.modes, watchModes);
    const names = values.only === undefined ? contenderNames : namesFrom('only', values.only, contenderNames);
    const rounds = countFrom('rounds', values.rounds);
    const events = countFrom('events', values.events);
    const watches = await affordable(countFrom('watches', values.watches));
    const watchesPerConnection = countFrom('per-connection', values['per-connection']);
    // Unreadable results are told before anything is measured: a run may replace one of the modes only.
    if (values.only === undefined) await readResults('watches', watchResultsSchema);
    for (const mode of modes) {
      const perConnection = mode === 'http2' ? watchesPerConnection : 0;
      const results = await withCleanup(async (cleanup) => {
        const { bench, entrants, measurement } = await openBench(names, cleanup);
        const measure = (contender: Contender) =>
          measureWatches(contender, bench, { watches, perConnection, events });
        return {
          ...measurement,
          watches,
          perConnection,
          rounds: await inRounds(rounds, entrants, measure),
        };
      });
      console.log(`\n${watches} watches, clients on ${mode}\n${terminalTable(watchRows(results))}`);
      if (values.only === undefined) await record(mode, results);
    }
    return 0;
  },
);

/** A proxy may need two sockets for each watch, and some to spare. */
async function affordable(asked: number): Promise<number> {
  const possible = Math.floor((await openFileLimit()) * 0.475);
  if (asked > possible) {
    console.log(
      `A process may have too few files open for ${asked} watches (ulimit -n): ${possible} instead.`,
    );
  }
  return Math.min(asked, possible);
}

async function record(
  mode: WatchMode,
  results: NonNullable<WatchResults['modes'][WatchMode]>,
): Promise<void> {
  const { modes } = (await readResults('watches', watchResultsSchema)) ?? { modes: {} };
  await writeResults('watches', watchResultsSchema, {
    kind: 'watches',
    modes: { ...modes, [mode]: results },
  });
  await writeGenerated(benchReport);
}

/**
 * What idle watches cost: memory for each, and how long an event takes to reach all. `npm run bench:watches`,
 * docs/explanation/performance.md.
 */
import { writeGenerated } from '../../generate/generated-file.ts';
import { withCleanup } from '../../harness/cleanup.ts';
import { countFrom, namesFrom, runMainWithOptions, UsageError } from '../../harness/command-line.ts';
import { chooseCores, describeMachine } from '../../harness/machine.ts';
import { openFileLimit } from '../../harness/open-files.ts';
import { readResults, writeResults } from '../../harness/results-file.ts';
import { terminalTable } from '../../report/text-table.ts';
import { benchReport } from '../report/bench-report.ts';
import { startBackend } from '../rivals/backend.ts';
import { type ContenderName, contenderNames } from '../rivals/contender.ts';
import { type Entrant, enter } from '../rivals/contenders.ts';
import { createWorkbench } from '../workbench.ts';
import { measureWatches, type WatchBench } from './measure-watches.ts';
import {
  type WatchFigures,
  type WatchMode,
  type WatchResults,
  watchModes,
  watchResultsSchema,
} from './watch-results.ts';
import { watchRows } from './watch-table.ts';

const usage = `npm run bench:watches -- [options]
  --watches N          how many are open at once (10000)
  --per-connection N   of them share a connection of an HTTP/2 client (50)
  --modes LIST         http2, http1: how clients speak (both)
  --events N           events that are sent to all, after 15 that do not count (15)
  --rounds N           fresh processes of each (2)
  --only LIST          contenders; figures are then shown, not recorded (all but Caddy and Hono + fetch)`;

const defaultContenders: readonly ContenderName[] = contenderNames.filter(
  (name) => name !== 'caddy' && name !== 'hono-fetch',
);

await runMainWithOptions(
  usage,
  {
    watches: { type: 'string', default: '10000' },
    'per-connection': { type: 'string', default: '50' },
    modes: { type: 'string' },
    events: { type: 'string', default: '15' },
    rounds: { type: 'string', default: '2' },
    only: { type: 'string' },
  },
  async (values) => {
    const modes = namesFrom('modes', values.modes, watchModes);
    const names =
      values.only === undefined ? defaultContenders : namesFrom('only', values.only, contenderNames);
    const rounds = countFrom('rounds', values.rounds);
    const events = countFrom('events', values.events);
    const watches = await affordable(countFrom('watches', values.watches));
    const perConnection = countFrom('per-connection', values['per-connection']);
    const machine = describeMachine();
    // What cannot be read is told before anything is measured: a run may replace one of the modes only.
    if (values.only === undefined) await readResults('watches', watchResultsSchema);

    return withCleanup(async (cleanup) => {
      const workbench = await createWorkbench(cleanup);
      const program = workbench.goPrograms;
      if (program === undefined)
        throw new UsageError('The clients of this benchmark are written in Go: install Go.');
      const cores = chooseCores();
      const { entrants, missing } = await enter(names, workbench);
      if (missing.length > 0) console.log(`Not installed, left out: ${missing.join(', ')}`);
      for (const mode of modes) {
        const backend = await startBackend(workbench, cleanup, cores.others);
        const bench = { workbench, program, backend, cores };
        const measurement = { watches, perConnection: mode === 'http2' ? perConnection : 0, events };
        const results: Required<WatchResults['modes']>[WatchMode] = {
          measuredAt: new Date().toISOString(),
          machine,
          watches,
          perConnection: measurement.perConnection,
          versions: Object.fromEntries(entrants.map(({ contender, version }) => [contender.name, version])),
          rounds: [],
        };
        for (let round = 0; round < rounds; round++) {
          results.rounds.push(await measureRound(round, entrants, bench, measurement));
        }
        await backend.child.stop();
        console.log(`\n${watches} watches, clients on ${mode}\n${terminalTable(watchRows(results))}`);
        if (values.only === undefined) await record(mode, results);
      }
      return 0;
    });
  },
);

/** Every other round goes through the contenders in reverse: none always has the machine at its warmest. */
async function measureRound(
  round: number,
  entrants: readonly Entrant[],
  bench: WatchBench,
  measurement: Parameters<typeof measureWatches>[2],
): Promise<Partial<Record<ContenderName, WatchFigures>>> {
  const figures: Partial<Record<ContenderName, WatchFigures>> = {};
  for (const { contender } of round % 2 === 0 ? entrants : entrants.toReversed()) {
    console.log(`round ${round + 1}: ${contender.title}`);
    try {
      figures[contender.name] = await measureWatches(contender, bench, measurement);
    } catch (error) {
      // One that cannot hold so many is left out of the table; the others still count.
      console.log(`  failed: ${String(error)}`);
    }
  }
  return figures;
}

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

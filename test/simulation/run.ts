/**
 * `npm run simulate -- --seeds 1-10000`: runs seeds in a process for each core. Options: `--stories 3` (how many failing seeds
 * are made shorter and told), `--minutes 3` (new seeds until then), `--planted` (searches for each planted fault, up to the last
 * seed). Exits 1 when a promise was broken, or a planted fault was not found.
 */
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { plantedFaults } from './planted/planted-faults.ts';

export interface SeedReport {
  readonly seed: number;
  readonly digest: string;
  readonly violation: string | undefined;
  readonly story: readonly string[];
  readonly margins: readonly (readonly [string, number])[];
  readonly reached: readonly string[];
}

interface Search {
  readonly next: () => number | undefined;
  readonly planted?: string;
  readonly stories: number;
  readonly onReport: (report: SeedReport) => void;
}

/** The program keeps something of each router for its process, which a process for many runs would gather. */
const seedsPerProcess = 40;

/** Gives seeds to processes until there are none left. */
async function search({ next, planted = '', stories, onReport }: Search): Promise<void> {
  let told = 0;
  let isOver = false;
  const runSome = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(join(import.meta.dirname, 'worker.ts'), [planted], {
        execArgv: ['--no-deprecation', '--no-warnings'],
      });
      let left = seedsPerProcess;
      const give = (): void => {
        const seed = left > 0 ? next() : undefined;
        if (left > 0 && seed === undefined) isOver = true;
        left--;
        if (seed === undefined) child.disconnect();
        else child.send({ seed, tells: told < stories });
      };
      child.on('message', (message: 'ready' | SeedReport) => {
        if (message !== 'ready') {
          if (message.story.length > 0) told++;
          onReport(message);
        }
        give();
      });
      child.on('error', reject);
      child.on('exit', (code, signal) =>
        code === 0 ? resolve() : reject(new Error(`a worker ended with ${code ?? signal}`)),
      );
    });
  const runAll = async (): Promise<void> => {
    while (!isOver) await runSome();
  };
  await Promise.all(Array.from({ length: availableParallelism() }, runAll));
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1-200' },
    minutes: { type: 'string' },
    stories: { type: 'string', default: '3' },
    planted: { type: 'boolean', default: false },
  },
});
const [first = 1, last = first] = values.seeds.split('-').map(Number);

async function searchForViolations(): Promise<boolean> {
  const beginning = performance.now();
  const minutes = values.minutes === undefined ? undefined : Number(values.minutes);
  // New ones each time, and named: whoever reads of a failure can run it again.
  const from = minutes === undefined ? first : Math.floor(Date.now() / 1000) * 1_000;
  const isOver = (seed: number): boolean =>
    minutes === undefined ? seed > last : performance.now() - beginning > minutes * 60_000;
  let seed = from;
  const failed = new Map<string, number[]>();
  const margins = new Map<string, number>();
  const reached = new Map<string, number>();
  let done = 0;
  await search({
    next: () => (isOver(seed) ? undefined : seed++),
    stories: Number(values.stories),
    onReport(report) {
      done++;
      for (const [promise, left] of report.margins)
        margins.set(promise, Math.min(left, margins.get(promise) ?? Number.POSITIVE_INFINITY));
      for (const what of report.reached) reached.set(what, (reached.get(what) ?? 0) + 1);
      if (report.violation === undefined) return;
      const kind = report.violation.split(':', 1)[0] ?? '';
      failed.set(kind, [...(failed.get(kind) ?? []), report.seed]);
      if (report.story.length > 0) console.log(`seed ${report.seed}\n${report.story.join('\n')}\n`);
    },
  });
  const seconds = (performance.now() - beginning) / 1000;
  console.log(
    `seeds ${from}-${seed - 1}: ${done} in ${seconds.toFixed(0)} s, ${(done / seconds).toFixed(1)} a second`,
  );
  for (const [what, count] of [...reached].sort())
    console.log(`  ${((100 * count) / done).toFixed(1).padStart(5)} %  ${what}`);
  for (const [promise, left] of margins) console.log(`  least ${left.toFixed(0)} ms ${promise}`);
  for (const [kind, seeds] of failed)
    console.log(
      `${kind}: ${seeds.length} seeds, ${seeds
        .toSorted((a, b) => a - b)
        .slice(0, 20)
        .join(' ')}`,
    );
  return failed.size === 0;
}

/** A fault counts as found with the first seed that fails with it and not without it. */
async function searchForPlantedFaults(): Promise<boolean> {
  const failing = new Set<number>();
  let isEachFound = true;
  let seed = first;
  await search({
    next: () => (seed > last ? undefined : seed++),
    stories: 0,
    onReport: ({ seed: failed, violation }) => violation !== undefined && failing.add(failed),
  });
  console.log(`${failing.size} of ${last - first + 1} seeds fail without a planted fault, and are left out`);
  for (const { name } of plantedFaults) {
    const found: number[] = [];
    seed = first;
    await search({
      next() {
        while (failing.has(seed)) seed++;
        return found.length > 0 || seed > last ? undefined : seed++;
      },
      planted: name,
      stories: 0,
      onReport: (report) => report.violation !== undefined && found.push(report.seed),
    });
    const [at] = found.toSorted((one, other) => one - other);
    if (at === undefined) isEachFound = false;
    console.log(`${at === undefined ? 'NOT FOUND' : `seed ${at}`}: ${name}`);
  }
  return isEachFound;
}

process.exitCode = (await (values.planted ? searchForPlantedFaults() : searchForViolations())) ? 0 : 1;

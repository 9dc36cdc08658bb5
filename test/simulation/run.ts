/**
 * `npm run simulate -- --seeds 1-10000`: runs seeds in a process for each core. Options: `--stories 3` (how many failing seeds
 * are made shorter and told), `--minutes 3` (new seeds until then), `--planted` (searches for each planted fault, up to the last
 * seed; `--fault lost`: for those whose name has that). Exits 1 when a promise was broken, or a planted fault was not found.
 */
import { fork } from 'node:child_process';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { faultNames, planOf } from './plan/plan.ts';
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
  /** Default: one for each core. */
  readonly processes?: number;
  readonly onReport: (report: SeedReport) => void;
}

/** The program keeps something of each router for its process, which a process for many runs would gather. */
const seedsPerProcess = 40;

/** Gives seeds to processes until there are none left. */
async function search({
  next,
  planted = '',
  stories,
  processes = availableParallelism(),
  onReport,
}: Search): Promise<void> {
  let told = 0;
  let isOver = false;
  const runSome = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const child = fork(join(import.meta.dirname, 'worker.ts'), [planted], {
        execArgv: ['--no-deprecation', '--no-warnings', '--max-semi-space-size=32'],
        // Code that a process compiles, the next one has.
        env: { ...process.env, NODE_COMPILE_CACHE: join(tmpdir(), 'simulation-compile-cache') },
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
  await Promise.all(Array.from({ length: processes }, runAll));
}

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1-200' },
    minutes: { type: 'string' },
    stories: { type: 'string', default: '3' },
    planted: { type: 'boolean', default: false },
    fault: { type: 'string', default: '' },
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
  const reached = new Map<string, number>(faultNames().map((name) => [name, 0]));
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

/** A fault counts as found with the first seed that fails with it and not without it. Tells a table in Markdown. */
async function searchForPlantedFaults(): Promise<boolean> {
  const failsAnyway = new Map<number, boolean>();
  const isFailingAnyway = async (seed: number): Promise<boolean> => {
    let isGiven = false;
    await search({
      next() {
        if (isGiven || failsAnyway.has(seed)) return undefined;
        isGiven = true;
        return seed;
      },
      stories: 0,
      processes: 1,
      onReport: ({ violation }) => failsAnyway.set(seed, violation !== undefined),
    });
    return failsAnyway.get(seed) === true;
  };
  let isEachFound = true;
  console.log('| fault | first seed | seeds run | by |\n| --- | ---: | ---: | --- |');
  const wanted = plantedFaults.filter(({ name }) => name.includes(values.fault));
  for (const { name, needs = () => true } of wanted) {
    let seed = first;
    let run = 0;
    let found: SeedReport | undefined;
    while (found === undefined && seed <= last) {
      const failed: SeedReport[] = [];
      await search({
        next() {
          while (seed <= last && !needs(planOf(seed))) seed++;
          if (failed.length > 0 || seed > last) return undefined;
          run++;
          return seed++;
        },
        planted: name,
        stories: 0,
        onReport: (report) => report.violation !== undefined && failed.push(report),
      });
      for (const report of failed.toSorted((one, other) => one.seed - other.seed))
        if (!(await isFailingAnyway(report.seed))) found ??= report;
    }
    if (found === undefined) isEachFound = false;
    const kind = found?.violation?.split(':', 1)[0];
    console.log(`| ${name} | ${found?.seed ?? `none to ${last}`} | ${run} | ${kind ?? ''} |`);
  }
  return isEachFound;
}

process.exitCode = (await (values.planted ? searchForPlantedFaults() : searchForViolations())) ? 0 : 1;

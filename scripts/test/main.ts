/**
 * `npm test` and `npm test -- --all`: several processes of tests beside each other, and one last line that adds
 * them up. `npm test -- src/proxy test/e2e` runs what is in these folders only. Exits 1 when a test failed.
 * How tests are told apart: CONTRIBUTING.md, "Tests".
 */
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { partOf, runSuites, type SuitesRun } from './run-suites.ts';

/** Suites with this ending run in `npm test -- --all` only: each takes many seconds, and rarely breaks. */
const slowEnding = '.slow.test.ts';
/**
 * The suites of a part (`src/cli`, with the folders in it) share a process, which loads the product once for all of them:
 * this many files to each process. Where they wait more than they compute, fewer: the processes wait beside each other.
 */
const filesPerProcess: Readonly<Record<string, number>> = {
  test: 4,
  'test/e2e': 3,
  'test/security': 6,
  'test/faults': 5,
};
const mostFilesPerProcess = 15;
/** Suites with a process of their own: each measures the memory of its process, or builds a Worker in a hook. */
const ownProcess =
  /^test\/(?:worker\/.*|faults\/server-faults|security\/(?:.*-floods|http2-reset-uploads|overload))\.test\.ts$/;
/** Three to a core: suites wait twice as long as they compute. */
const runsAtOnce = 3 * availableParallelism();

const root = join(import.meta.dirname, '..', '..');
const { values, positionals: wanted } = parseArgs({
  options: { all: { type: 'boolean', default: false } },
  allowPositionals: true,
});
/** Tests of the laboratory are run where they are asked for: `npm test -- lab`, or `--all`. */
const folders =
  values.all || wanted.some((path) => path.startsWith('lab'))
    ? '{src,packages/*,test,lab}'
    : '{src,packages/*,test}';
const files = globSync(`${folders}/**/*.test.ts`, { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((path) => file.startsWith(path)))
  .sort();

const runs = await runAll(together(files.filter((file) => !file.endsWith(slowEnding))), runsAtOnce);
if (values.all) {
  // One at a time: some of these load the machine, or measure what it does.
  const slow = files.filter((file) => file.endsWith(slowEnding)).map((file) => [file]);
  runs.push(...(await runAll(slow, 1)));
}

if (runs.length === 0) console.log(`No test is in ${wanted.join(', ')}: slow ones need --all.`);
const failed = runs.filter((run) => run.failed > 0);
for (const { name, failures } of failed)
  console.log(`✖ ${name}\n${failures.map((each) => `${each}\n`.replace(/^(?=.)/gm, '    ')).join('')}`);
const total = (key: 'passed' | 'failed' | 'skipped') => runs.reduce((sum, run) => sum + run[key], 0);
console.log(`${total('passed')} passed, ${total('failed')} failed, ${total('skipped')} skipped`);
process.exitCode = failed.length === 0 && runs.length > 0 ? 0 : 1;

/** Files that share a process; those that wait the longest first, so that none is left to run alone at the end. */
function together(paths: readonly string[]): string[][] {
  const groups = Map.groupBy(paths, (path) => (ownProcess.test(path) ? path : partOf(path)));
  const takesLong = ([path = '']: readonly string[]) => Number(path.startsWith('test/'));
  return [...groups]
    .map(([part, group]) => ({
      group,
      atMost: ownProcess.test(part) ? 1 : (filesPerProcess[part] ?? mostFilesPerProcess),
    }))
    .sort((one, other) => one.atMost - other.atMost || takesLong(other.group) - takesLong(one.group))
    .flatMap(({ group, atMost }) => dealtOut(group, atMost));
}

/** As cards are, so that neighbours, which often wait for the same, are in different groups. */
function dealtOut(paths: readonly string[], atMost: number): string[][] {
  const count = Math.ceil(paths.length / atMost);
  return Array.from({ length: count }, (_, group) => paths.filter((_path, index) => index % count === group));
}

async function runAll(groups: readonly string[][], atOnce: number): Promise<SuitesRun[]> {
  const waiting = [...groups];
  const done: SuitesRun[] = [];
  const runNext = async (): Promise<void> => {
    for (let group = waiting.shift(); group !== undefined; group = waiting.shift()) {
      const run = await runSuites(root, group);
      tell(run);
      done.push(run);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, runNext));
  return done;
}

/** One line for what passed, with what was skipped and why; the whole output of what did not. */
function tell({ name, passed, failed, skips, seconds, output }: SuitesRun): void {
  if (failed > 0) process.stdout.write(output);
  console.log(`${failed > 0 ? '✖' : '✔'} ${name}: ${passed} in ${seconds.toFixed(1)} s`);
  for (const skip of skips) console.log(`    skipped: ${skip}`);
}

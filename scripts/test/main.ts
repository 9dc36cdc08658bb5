/**
 * `npm test` and `npm run test:all`: runs of `node --test` beside or after each other, and one last line that
 * adds them up. `npm test -- src/proxy test/e2e` runs what is in these folders only. Exits 1 when a test failed.
 * How tests are told apart: CONTRIBUTING.md, "Tests".
 */
import { spawn } from 'node:child_process';
import { globSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { parseArgs } from 'node:util';

/** Suites with this ending run in `npm run test:all` only: each takes many seconds, and rarely breaks. */
const slowEnding = '.slow.test.ts';
/** Folders of src whose suites start processes, or open ports: a process of its own for each of these files. */
const ownProcessFolders = ['src/node/', 'src/cli/', 'src/sync/node/'];
/** Suites wait more than they compute, for processes and for connections. */
const filesAtOnce = availableParallelism() + 1;

const root = join(import.meta.dirname, '..', '..');
const { values, positionals: wanted } = parseArgs({
  options: { all: { type: 'boolean', default: false } },
  allowPositionals: true,
});
const files = globSync('{src,test}/**/*.test.ts', { cwd: root })
  .filter((file) => wanted.length === 0 || wanted.some((path) => file.startsWith(path)))
  .sort();
const slow = files.filter((file) => file.endsWith(slowEnding));
const quick = files.filter((file) => !file.endsWith(slowEnding));
const shareProcess = quick.filter(sharesProcess);
const ownProcess = quick.filter((file) => !sharesProcess(file));

const counts = await Promise.all([
  runTests(ownProcess, 'inherit', `--test-concurrency=${filesAtOnce}`),
  runTests(shareProcess, 'pipe', '--test-isolation=none'),
]);
// One at a time: some of these load the machine, or measure what it does.
if (values.all) counts.push(await runTests(slow, 'inherit', '--test-concurrency=1'));

const total = (key: keyof Counts) => counts.reduce((sum, one) => sum + one[key], 0);
console.log(`${total('passed')} passed, ${total('failed')} failed, ${total('skipped')} skipped`);
process.exitCode = total('failed') === 0 ? 0 : 1;

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The suites of the portable core only compute: loading the core once serves all of them. */
function sharesProcess(file: string): boolean {
  return file.startsWith('src/') && !ownProcessFolders.some((folder) => file.startsWith(folder));
}

/** One run of `node --test`. `pipe` keeps its output back, and prints it in one piece when it has ended. */
async function runTests(
  paths: readonly string[],
  output: 'inherit' | 'pipe',
  ...options: readonly string[]
): Promise<Counts> {
  // Without a path `node --test` would look for tests itself.
  if (paths.length === 0) return { passed: 0, failed: 0, skipped: 0 };
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-tests-'));
  try {
    const countsFile = join(directory, 'counts.json');
    const child = spawn(
      process.execPath,
      [
        '--env-file=.env',
        '--test',
        '--test-timeout=300000',
        ...options,
        '--test-reporter=spec',
        '--test-reporter-destination=stdout',
        '--test-reporter=./scripts/test/counts-reporter.ts',
        `--test-reporter-destination=${countsFile}`,
        ...paths,
      ],
      { cwd: root, stdio: ['ignore', output, 'inherit'], env: environment() },
    );
    const ended = new Promise<number | null>((resolve, reject) =>
      child.on('error', reject).on('close', resolve),
    );
    if (child.stdout !== null) process.stdout.write(await text(child.stdout));
    const code = await ended;
    const counted = await readFile(countsFile, 'utf8');
    if (counted === '') throw new Error(`node --test ended with ${code} before it had counted its tests`);
    const counts: Counts = JSON.parse(counted);
    // A file that could not end well fails its run also where no test of it did.
    return code === 0 || counts.failed > 0 ? counts : { ...counts, failed: 1 };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Each file is a process that loads much the same modules: with types stripped and compiled once for all. */
function environment(): NodeJS.ProcessEnv {
  return { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node-compile-cache'), ...process.env };
}

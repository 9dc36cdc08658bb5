import { spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Results } from './test-process.ts';

/** Results of one process of tests. */
export interface SuitesRun extends Results {
  /** The file, or the part that the files are of and how many they are. */
  readonly name: string;
  readonly seconds: number;
  /** All that was written, by the reporter and by the tests. */
  readonly output: string;
}

/** Longest time of a process: finds handles that keep a process alive behind its tests. Milliseconds. */
const longestRun = 600_000;

/** `src/cli` of everything in it. */
export function partOf(path: string): string {
  return dirname(path).split('/').slice(0, 2).join('/');
}

/** Runs files of tests in one process. */
export async function runSuites(root: string, paths: readonly string[]): Promise<SuitesRun> {
  const [first = ''] = paths;
  const name = paths.length === 1 ? first : `${partOf(first)} (${paths.length} files)`;
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-tests-'));
  const resultsFile = join(directory, 'results.json');
  try {
    const begun = performance.now();
    const child = spawn(
      process.execPath,
      ['--env-file=.env', 'scripts/test/test-process.ts', resultsFile, ...paths],
      { cwd: root, stdio: ['ignore', 'pipe', 'pipe'], env: environment(root), timeout: longestRun },
    );
    const ended = new Promise<number | null>((resolve, reject) =>
      child.on('error', reject).on('close', resolve),
    );
    const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
    const seconds = (performance.now() - begun) / 1_000;
    const results = resultsOf(await readFile(resultsFile, 'utf8').catch(() => ''), code, child.killed);
    return { ...results, name, seconds, output: `${output}${errors}` };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/**
 * A process that did not end well has failed also where none of its tests did.
 * @param wasKilled the process ends with 1 then
 */
function resultsOf(reported: string, code: number | null, wasKilled: boolean): Results {
  const last = reported.trimEnd().split('\n').at(-1);
  const results: Results = last
    ? JSON.parse(last)
    : { passed: 0, failed: 0, skipped: 0, skips: [], failures: [] };
  if (code === 0 && last) return results;
  if (!wasKilled && results.failed > 0) return results;
  const ending = wasKilled
    ? `ended after ${longestRun / 1_000} s: a test does not end, or what it left running keeps the process alive`
    : `the process ended with ${code}`;
  return { ...results, failed: results.failed + 1, failures: [...results.failures, ending] };
}

/** The runs load much the same modules: types are stripped and code is compiled once for all, and for next time. */
function environment(root: string): NodeJS.ProcessEnv {
  return { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/node-compile-cache'), ...process.env };
}

/**
 * `npm run lab -- mutate`: breaks one place of the product at a time, in a worktree of HEAD, and runs what should notice it: tests, or a
 * search (`npm run fuzz`). `npm run lab -- mutate chart` takes only faults whose names hold that word. Exits 1 when one is not noticed,
 * or cannot be planted.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { withCleanup } from '../harness/cleanup.ts';
import type { Fault, SearchedFault } from './fault.ts';
import { http2Faults } from './http2-faults.ts';
import { type Mutant, mutants } from './mutants.ts';
import { searchedFaults } from './searched-faults.ts';

const root = resolve(import.meta.dirname, '../..');
/** Milliseconds for the tests of one fault: a break may show as a test that waits for ever. */
const longest = 600_000;
/** The same for a search. What does not end is found. */
const longestSearch = 180_000;
/** Seed of every search here. */
const seed = '1';

type Outcome = 'noticed' | 'NOT NOTICED' | 'NOT PLANTED' | 'FAILS WITHOUT IT';

/** Tests or a search that should notice faults; one may be asked for several of them. */
interface Watch {
  readonly key: string;
  /** @returns in words how it was noticed; `undefined`: it was not */
  readonly notices: (tree: string) => string | undefined;
}

function testing({ tests }: Mutant): Watch {
  const notices = (tree: string): string | undefined => {
    const files = tests.flatMap((test) =>
      test.endsWith('.ts') ? [test] : globSync(`${test}/**/*.test.ts`, { cwd: tree }),
    );
    const fast = files.filter((each) => !each.endsWith('.slow.test.ts'));
    const options = ['--env-file=.env', '--test', '--test-reporter=dot'];
    const { status } = spawnSync(process.execPath, [...options, ...fast], { cwd: tree, timeout: longest });
    return status === 0 ? undefined : '';
  };
  return { key: tests.join(' '), notices };
}

/** By made-up inputs alone: the corpus knows many faults by heart. */
function searching({ target, runs }: SearchedFault): Watch {
  const notices = (tree: string): string | undefined => {
    const { status, stdout } = spawnSync(
      process.execPath,
      ['--env-file=.env', '--test', `{test/fuzz/targets,packages/http2/test/fuzz}/${target}.test.ts`],
      {
        ...{ cwd: tree, timeout: longestSearch, encoding: 'utf8' },
        env: { ...process.env, FUZZ_RUNS: String(runs), FUZZ_SEED: seed, FUZZ_ONLY_FAILS: '1' },
      },
    );
    // A fault that nothing can be started with says nothing of the search.
    if (/SyntaxError|ERR_MODULE_NOT_FOUND|ERR_INVALID_TYPESCRIPT_SYNTAX/.test(stdout))
      throw new Error(stdout);
    if (status === 0) return undefined;
    const [, count = 'no'] = /Property failed after (\d+) tests/.exec(stdout) ?? [];
    return ` by input ${count} of ${runs}`;
  };
  return { key: `${target} ${runs}`, notices };
}

const failing = new Map<string, boolean>();

/** A test that fails without the fault notices nothing. */
function failsWithout({ key, notices }: Watch, tree: string): boolean {
  const known = failing.get(key) ?? notices(tree) !== undefined;
  failing.set(key, known);
  return known;
}

function plant({ file, from, to }: Fault, watch: Watch, tree: string): [Outcome, string] {
  const path = join(tree, file);
  const whole = readFileSync(path, 'utf8');
  if (whole.split(from).length !== 2) return ['NOT PLANTED', ''];
  if (failsWithout(watch, tree)) return ['FAILS WITHOUT IT', ''];
  writeFileSync(
    path,
    whole.replace(from, () => to),
  );
  try {
    const how = watch.notices(tree);
    return how === undefined ? ['NOT NOTICED', ''] : ['noticed', how];
  } finally {
    writeFileSync(path, whole);
  }
}

await withCleanup(async (cleanup) => {
  const tree = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-mutants-'));
  execFileSync('git', ['worktree', 'add', '--detach', '--force', tree, 'HEAD'], { cwd: root, stdio: 'pipe' });
  cleanup.add(() => execFileSync('git', ['worktree', 'remove', '--force', tree], { cwd: root }));
  symlinkSync(join(root, 'node_modules'), join(tree, 'node_modules'));
  symlinkSync(join(root, 'dist'), join(tree, 'dist'));
  const [word = ''] = process.argv.slice(2);
  const faults: (readonly [Fault, Watch])[] = [
    ...mutants.map((mutant) => [mutant, testing(mutant)] as const),
    ...[...http2Faults, ...searchedFaults].map((fault) => [fault, searching(fault)] as const),
  ];
  const outcomes = faults
    .filter(([{ name }]) => name.includes(word))
    .map(([fault, watch]) => {
      const [outcome, how] = plant(fault, watch, tree);
      console.log(`${outcome}${how}: ${fault.name}`);
      return outcome;
    });
  const noticed = outcomes.filter((outcome) => outcome === 'noticed').length;
  console.log(`${noticed} of ${outcomes.length} noticed`);
  process.exitCode = noticed === outcomes.length && noticed > 0 ? 0 : 1;
});

/**
 * `npm run mutate`: breaks one line of the product at a time, in a worktree of HEAD, and runs the tests that should notice it.
 * `npm run mutate -- chart` takes only mutants whose names hold that word. Exits 1 when one is not noticed, or cannot be planted.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { globSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { withCleanup } from '../harness/cleanup.ts';
import { type Mutant, mutants } from './mutants.ts';

const root = resolve(import.meta.dirname, '../..');
/** Milliseconds for the tests of one mutant: a break may show as a test that waits for ever. */
const longest = 600_000;

type Outcome = 'noticed' | 'NOT NOTICED' | 'NOT PLANTED' | 'FAILS WITHOUT IT';

const passing = new Map<string, boolean>();

/** Tests that fail by themselves notice nothing. */
function passesWithout(tests: readonly string[], tree: string): boolean {
  const key = tests.join(' ');
  const known = passing.get(key) ?? passes(tests, tree);
  passing.set(key, known);
  return known;
}

function passes(tests: readonly string[], tree: string): boolean {
  const files = tests.flatMap((test) =>
    test.endsWith('.ts') ? [test] : globSync(`${test}/**/*.test.ts`, { cwd: tree }),
  );
  const fast = files.filter((each) => !each.endsWith('.slow.test.ts'));
  const options = ['--env-file=.env', '--test', '--test-reporter=dot'];
  return spawnSync(process.execPath, [...options, ...fast], { cwd: tree, timeout: longest }).status === 0;
}

function outcomeOf({ file, from, to, tests }: Mutant, tree: string): Outcome {
  const path = join(tree, file);
  const whole = readFileSync(path, 'utf8');
  if (whole.split(from).length !== 2) return 'NOT PLANTED';
  if (!passesWithout(tests, tree)) return 'FAILS WITHOUT IT';
  writeFileSync(
    path,
    whole.replace(from, () => to),
  );
  try {
    return passes(tests, tree) ? 'NOT NOTICED' : 'noticed';
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
  const chosen = mutants.filter(({ name }) => name.includes(word));
  const outcomes = chosen.map((mutant): Outcome => {
    const outcome = outcomeOf(mutant, tree);
    console.log(`${outcome}: ${mutant.name}`);
    return outcome;
  });
  const noticed = outcomes.filter((outcome) => outcome === 'noticed').length;
  console.log(`${noticed} of ${outcomes.length} noticed`);
  process.exitCode = noticed === outcomes.length && noticed > 0 ? 0 : 1;
});

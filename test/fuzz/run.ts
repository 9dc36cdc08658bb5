import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

const root = join(import.meta.dirname, '..', '..');
/** Inputs for each target: as many as take some seconds. The quick ones first. */
const searches = [
  ['header-hygiene', '3000'],
  ['http2-exchanges', '300'],
  ['http2-requests', '600'],
  ['http2-answers', '5000'],
  ['http1-requests', '150'],
] as const;
const seed = '1';
/** Milliseconds. What does not end is found. */
const timeout = 180_000;

interface PlantedFault {
  readonly name: string;
  readonly file: string;
  /** The whole file, with the fault in it. */
  readonly text: string;
}

/**
 * Reads `planted-faults.txt`: `@` is a file, `#` a fault in it, `-` a line that it takes away, `+` one that it puts there.
 * @throws where the lines do not stand in the file once: it has changed, and the fault must change with it
 */
function plantedFaults(): PlantedFault[] {
  const parts = readFileSync(new URL('planted-faults.txt', import.meta.url), 'utf8')
    .split(/^@ /m)
    .slice(1);
  return parts.flatMap((part) => {
    const [head = '', ...faults] = part.split(/^# /m);
    const file = head.trim();
    const source = readFileSync(join(root, file), 'utf8');
    return faults.map((fault) => {
      const [name = '', ...lines] = fault.trimEnd().split('\n');
      const marked = (mark: string): string[] =>
        lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(2));
      const around = source.split(marked('-').join('\n'));
      if (around.length !== 2)
        throw new Error(`"${name}": its lines stand in ${file} ${around.length - 1} times`);
      return { name, file, text: around.join(marked('+').join('\n')) };
    });
  });
}

/** @returns the target that fails; `undefined` when all of them pass */
function found(copy: string): string | undefined {
  return searches.find(([target, runs]) => {
    const { status, stdout } = spawnSync(
      process.execPath,
      ['--test', `test/fuzz/targets/${target}.test.ts`],
      {
        ...{ cwd: copy, timeout, encoding: 'utf8' },
        env: { ...process.env, FUZZ_RUNS: runs, FUZZ_SEED: seed, FUZZ_SHRINKS: '0' },
      },
    );
    // A fault that nothing can be started with says nothing of the search.
    if (/SyntaxError|ERR_MODULE_NOT_FOUND|ERR_INVALID_TYPESCRIPT_SYNTAX/.test(stdout))
      throw new Error(stdout);
    return status !== 0;
  })?.[0];
}

/** Puts each fault into a copy of the tree, and has the fuzzing search for it. @returns how many it did not find */
function searchPlanted(): number {
  const faults = plantedFaults();
  const copy = mkdtempSync(join(tmpdir(), 'planted-'));
  try {
    for (const path of ['src', 'test', 'demo', 'scripts', 'package.json', 'tsconfig.json'])
      cpSync(join(root, path), join(copy, path), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const clean = found(copy);
    if (clean !== undefined) throw new Error(`${clean} fails without any fault`);
    let missed = 0;
    for (const { name, file, text } of faults) {
      writeFileSync(join(copy, file), text);
      const target = found(copy);
      cpSync(join(root, file), join(copy, file));
      if (target === undefined) missed++;
      console.log(`${target === undefined ? '✖ not found' : `✔ ${target}`}: ${name}`);
    }
    console.log(`${faults.length - missed} of ${faults.length} planted faults found`);
    return missed;
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
}

const usage = `Usage: npm run fuzz -- [--runs N] [--seed N] [--target NAME]
       npm run fuzz -- --planted

  --runs    inputs for each target (default 10000)
  --seed    to repeat a search (default: the time)
  --target  one of the files in test/fuzz/targets, without .test.ts (default: all)
  --planted whether the fuzzing finds the faults in test/fuzz/planted-faults.txt (10 minutes)
`;

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '10000' },
    seed: { type: 'string', default: String(Date.now() % 2 ** 31) },
    target: { type: 'string', default: '*' },
    planted: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});
if (values.help || !/^\d+$/.test(values.runs) || !/^\d+$/.test(values.seed)) {
  process.stderr.write(usage);
  process.exit(values.help ? 0 : 2);
}
if (values.planted) process.exit(searchPlanted() === 0 ? 0 : 1);
process.stderr.write(`${values.runs} inputs for each target, seed ${values.seed}\n`);
const search = spawn(process.execPath, ['--test', `test/fuzz/targets/${values.target}.test.ts`], {
  stdio: 'inherit',
  env: { ...process.env, FUZZ_RUNS: values.runs, FUZZ_SEED: values.seed },
});
search.on('exit', (code) => {
  process.exitCode = code ?? 1;
});

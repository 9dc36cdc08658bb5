import { spawn } from 'node:child_process';
import { parseArgs } from 'node:util';

const usage = `Usage: npm run fuzz -- [--runs N] [--seed N] [--target NAME]
       npm run fuzz -- --planted

  --runs    inputs for each target (default 10000)
  --seed    to repeat a search (default: the time)
  --target  one of the files in test/fuzz/targets and packages/http2/test/fuzz, without .test.ts (default: all)
  --planted whether the fuzzing finds the faults planted for it in lab/mutate (10 minutes)
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
if (!values.planted) process.stderr.write(`${values.runs} inputs for each target, seed ${values.seed}\n`);
const started = values.planted
  ? ['--env-file=.env', 'lab/mutate/main.ts', 'fuzz ']
  : ['--test', `{test/fuzz/targets,packages/http2/test/fuzz}/${values.target}.test.ts`];
const search = spawn(process.execPath, started, {
  stdio: 'inherit',
  env: { ...process.env, FUZZ_RUNS: values.runs, FUZZ_SEED: values.seed },
});
search.on('exit', (code) => {
  process.exitCode = code ?? 1;
});

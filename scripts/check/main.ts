/**
 * `npm run check`: everything about the sources that can be said without running a test. The steps run beside
 * each other, and each one's output is printed in one piece. Exits 1 when one of them found a fault. First it installs the
 * runtimes, which tests need after it.
 */
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { installRuntimes } from '../runtimes/install.ts';

/** Where tsc remembers its last run, so that tsc looks only at what has changed since. */
const memory = 'node_modules/.cache/tsc';

const isTerminal = process.stdout.isTTY === true;

const steps = [
  typeCheck('tsconfig.json'),
  typeCheck('tsconfig.core.json'),
  typeCheck('src/dashboard/client/tsconfig.json'),
  ['biome', 'ci', '.', `--colors=${isTerminal ? 'force' : 'off'}`],
  [process.execPath, 'scripts/check/portable-core.ts'],
  [process.execPath, 'scripts/check/rooms.ts'],
  [process.execPath, 'scripts/check/worker-size.ts'],
];

const passed = installRuntimes() && (await Promise.all(steps.map(runStep))).every(Boolean);
process.exitCode = passed ? 0 : 1;

/** By one checker each: the four that tsc takes look at much of the same, for nearly twice the CPU time. */
function typeCheck(project: string): string[] {
  const memoryFile = `${memory}/${project.replaceAll('/', '-')}.tsbuildinfo`;
  return [
    'tsc',
    '--project',
    project,
    '--checkers',
    '1',
    '--incremental',
    '--tsBuildInfoFile',
    memoryFile,
    '--pretty',
    String(isTerminal),
  ];
}

/** Runs a command, which npm has put on the PATH. @returns true when the command ended well */
async function runStep([command = '', ...rest]: string[]): Promise<boolean> {
  const child = spawn(command, rest, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) =>
    child.on('error', reject).on('close', resolve),
  );
  const [output, errors, code] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  process.stdout.write(output + errors);
  return code === 0;
}

/**
 * In the place of a program of a workflow: `node registry-double.ts <program> <arguments>`. What takes a registry is written
 * down, one line of JSON each, in the file `DOUBLE_LOG`, and answered as the registry would; all else is the program's own.
 */
import { spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { registryCommandOf } from '../../../scripts/release/registry-commands.ts';

const [program = '', ...args] = process.argv.slice(2);
const { DOUBLE_LOG: log = '', REAL_PATH: path, TEST_ASSET_HELM: helm = 'helm' } = process.env;
const command = registryCommandOf([program, ...args].join(' '));

/** The value behind a flag. */
const after = (flag: string): string => args[args.indexOf(flag) + 1] ?? '';

/** Files that are handed over are there, and no glob is left that named none. */
const missing = args.filter(
  (arg) => /\.(tgz|json|md)$/.test(arg) && arg !== after('--metadata-file') && !existsSync(arg),
);

if (command === undefined) {
  const executable = program === 'helm' ? helm : program;
  const { status } = spawnSync(executable, args, { stdio: 'inherit', env: { ...process.env, PATH: path } });
  process.exitCode = status ?? 1;
} else if (missing.length > 0) {
  process.stderr.write(`${command}: there is no ${missing.join(', ')}\n`);
  process.exitCode = 1;
} else {
  const given = args.includes('--password-stdin') ? readFileSync(0, 'utf8') : '';
  const notes = args.includes('--notes-file') ? readFileSync(after('--notes-file'), 'utf8') : '';
  appendFileSync(log, `${JSON.stringify({ command, args, given, notes })}\n`);
  if (command === 'docker buildx build') {
    writeFileSync(
      after('--metadata-file'),
      JSON.stringify({ 'containerimage.digest': `sha256:${'0a'.repeat(32)}` }),
    );
  }
  if (command === 'docker buildx imagetools inspect') process.stdout.write('{ "spdxVersion": "SPDX-2.3" }\n');
}

import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const wanted = readFileSync(join(import.meta.dirname, 'package-lock.json'), 'utf8');
/** The lock file of the last installation that came to its end. */
const record = join(import.meta.dirname, 'node_modules', '.installed-lock.json');

/**
 * Installs workerd, Miniflare, wrangler, Deno and Bun from the lock file beside this. They are no part of `npm ci`, since only
 * tests and the edge need them, and they are as large as half of all the rest. Where they are up to date it takes no time.
 * @returns whether they are there
 */
export function installRuntimes(): boolean {
  if (existsSync(record) && readFileSync(record, 'utf8') === wanted) return true;
  console.log('Installing the runtimes of the tests into scripts/runtimes: 400 MB, once.');
  const { status } = spawnSync('npm', ['ci', '--ignore-scripts', '--no-progress'], {
    cwd: import.meta.dirname,
    stdio: 'inherit',
  });
  if (status === 0) writeFileSync(record, wanted);
  return status === 0;
}

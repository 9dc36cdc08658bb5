import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Arguments of Node that run `serve` of a tree as its package and its image do: the bundled file, made anew. From sources
 * the router keeps 40 MiB more, for Node strips types by a WebAssembly module that stays in memory, and starts in three
 * times the CPU time.
 * @param tree directory of `package.json`, with its packages installed
 */
export async function packagedServe(tree: string): Promise<readonly [file: string, command: 'serve']> {
  await run(process.execPath, [join(tree, 'scripts', 'package', 'bundle-command.ts')], { cwd: tree });
  return [join(tree, 'dist', 'command', 'serve.cjs'), 'serve'];
}

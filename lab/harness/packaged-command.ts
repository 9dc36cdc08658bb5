import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * Arguments of Node that run `serve` of a tree as its package and its image do: the bundled file, made anew. From sources,
 * whose types Node strips as it loads them, a router at rest kept 132 MiB, and 94 MiB from the bundle.
 * @param tree directory of `package.json`, with its packages installed
 */
export async function packagedServe(tree: string): Promise<readonly [file: string, command: 'serve']> {
  await run(process.execPath, [join(tree, 'scripts', 'package', 'bundle-command.ts')], { cwd: tree });
  return [join(tree, 'dist', 'command', 'serve.cjs'), 'serve'];
}

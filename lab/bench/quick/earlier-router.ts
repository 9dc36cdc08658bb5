import { execFile } from 'node:child_process';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Cleanup } from '../../harness/cleanup.ts';
import { UsageError } from '../../harness/command-line.ts';
import { type Contender, earlierRouterName } from '../rivals/contender.ts';
import { routerIn } from '../rivals/router.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');

/**
 * The router of another revision, in a working tree of its own with the packages that are installed here; `cleanup`
 * removes it.
 * @throws {UsageError} when git has no such commit, or this is no checkout.
 */
export async function earlierRouter(revision: string, cleanup: Cleanup): Promise<Contender> {
  const commit = await commitOf(revision);
  const directory = await mkdtemp(join(tmpdir(), 'mixed-version-proxy-earlier-'));
  cleanup.add(() => rm(directory, { recursive: true, force: true }));
  const tree = join(directory, 'tree');
  await run('git', ['worktree', 'add', '--detach', '--quiet', tree, commit], { cwd: root });
  cleanup.add(() => run('git', ['worktree', 'remove', '--force', tree], { cwd: root }));
  await symlink(join(root, 'node_modules'), join(tree, 'node_modules'));
  return routerIn(tree, earlierRouterName, `Mixed Version Proxy of ${commit.slice(0, 9)}`);
}

async function commitOf(revision: string): Promise<string> {
  const words = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${revision}^{commit}`];
  try {
    const { stdout } = await run('git', words, { cwd: root });
    return stdout.trim();
  } catch (cause) {
    throw new UsageError(
      `--against: git has no commit ${JSON.stringify(revision)} here. Name one that \`git log\` shows; a shallow clone has only the newest.`,
      { cause },
    );
  }
}

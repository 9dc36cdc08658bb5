import { mkdir, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a directory for its owner alone, with those above it. `recursive` would loop for ever where a file system has ENOENT for
 * a directory whose parent is there (/proc, autofs; Node 26.10).
 * @returns false where a file is in the way
 */
export async function makeDirectory(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  if (found !== undefined) return found.isDirectory();
  if (!(await makeDirectory(dirname(path)))) return false;
  await mkdir(path, { mode: 0o700 });
  return true;
}

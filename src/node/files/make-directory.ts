import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a directory and what is missing above it. As `mkdir` with `recursive`, which turns round for ever where a
 * file system says ENOENT for a directory whose parent is there (/proc; Node 26.10).
 * @throws the file system's error
 */
export async function makeDirectory(path: string, mode: number): Promise<void> {
  const missing: string[] = [];
  let above = resolve(path);
  while (!(await isDirectory(above))) {
    missing.push(above);
    above = dirname(above);
  }
  for (const directory of missing.toReversed()) {
    await mkdir(directory, { mode }).catch(async (error: unknown) => {
      // Somebody else was quicker.
      if (!(await isDirectory(directory))) throw error;
    });
  }
}

/** What is no directory and stands in the way is told by `mkdir`. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

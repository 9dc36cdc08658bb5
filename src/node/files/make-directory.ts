import { mkdir, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/**
 * Makes a directory and its missing parents. `mkdir` with `recursive` loops for ever if a file system reports ENOENT for
 * a directory whose parent exists (/proc; Node 26.10).
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
      // Another process may have made it meanwhile.
      if (!(await isDirectory(directory))) throw error;
    });
  }
}

/** False for any other file: then `mkdir` reports the error. */
async function isDirectory(path: string): Promise<boolean> {
  try {
    return (await stat(path)).isDirectory();
  } catch {
    return false;
  }
}

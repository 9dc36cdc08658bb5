import { stat } from 'node:fs/promises';

/**
 * Checks that a new file may be renamed over `path`. A device or a pipe must not be replaced by a plain file: without
 * `/dev/null` every program on the machine would write into that file.
 * @throws {Error} if it is neither a file nor missing
 */
export async function checkReplaceable(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  // For a directory the rename itself fails with a clear error.
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new Error(`${path} is not a regular file, and is not replaced: name a file`);
}

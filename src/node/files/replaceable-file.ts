import { stat } from 'node:fs/promises';

/**
 * For whoever is about to rename a new file over `path`: in the place of a device or a pipe that would leave a plain
 * file, and with `/dev/null` gone every program on the machine writes into it.
 * @throws {Error} when something other than a file stands there.
 */
export async function checkReplaceable(path: string): Promise<void> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  // Over a directory the rename itself fails, and says so.
  if (found === undefined || found.isFile() || found.isDirectory()) return;
  throw new Error(`${path} is no plain file, and is not replaced by one: name a file`);
}

import { link, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** The default mode: files of a router have addresses and versions of the control plane, or keys. */
const ownerOnly = 0o600;

interface FileOwner {
  readonly user: number;
  readonly group: number;
}

/**
 * Writes a file next to the old one, syncs it and renames it over the old one: a crash or a full disk leaves the old or
 * the new file, never a part.
 * @param temporaryPath in the same directory
 * @param mode whatever the umask is
 * @param owner default: the process's
 */
export async function replaceFile(
  path: string,
  temporaryPath: string,
  text: string,
  mode = ownerOnly,
  owner?: FileOwner,
): Promise<void> {
  await checkReplaceable(path);
  await writeSynced(temporaryPath, text, mode, owner);
  try {
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(path));
}

/**
 * For a file that must not be there yet, whole as well: a link to a temporary file, which a run that is killed may leave
 * behind. Where the file system has no links (vfat), it is written under its own name.
 * @throws `EEXIST` if there is a file under the name
 */
export async function writeNewFile(path: string, temporaryPath: string, text: string): Promise<void> {
  await writeSynced(temporaryPath, text, ownerOnly);
  try {
    await link(temporaryPath, path).catch((error: NodeJS.ErrnoException) => {
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP'].includes(error.code ?? '')) throw error;
      return writeSynced(path, text, ownerOnly);
    });
  } finally {
    await rm(temporaryPath, { force: true });
  }
  await syncDirectory(dirname(path));
}

async function writeSynced(path: string, text: string, mode: number, owner?: FileOwner): Promise<void> {
  const file = await open(path, 'wx', ownerOnly);
  try {
    if (owner !== undefined) await file.chown(owner.user, owner.group);
    if (mode !== ownerOnly) await file.chmod(mode);
    await file.writeFile(text, 'utf8');
    // Before it gets its last name: otherwise a power failure can leave an empty file under that name.
    await file.sync();
  } catch (error) {
    await rm(path, { force: true }).catch(() => undefined);
    throw error;
  } finally {
    await file.close();
  }
}

/** Syncs the name itself (fsync(2): syncing a file does not sync its directory entry). */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

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

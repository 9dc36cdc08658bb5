import { constants, copyFile, link, mkdir, open, rename, rm, stat } from 'node:fs/promises';
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
  await writeBeside(path, temporaryPath, { text, mode, owner }, () => rename(temporaryPath, path));
}

/**
 * As `replaceFile`, for a file that must not be there yet. A link is made whole, and never over another file (link(2)).
 * @throws `EEXIST` if there is a file under the name
 */
export async function writeNewFile(
  path: string,
  temporaryPath: string,
  text: string,
  mode = ownerOnly,
): Promise<void> {
  await writeBeside(path, temporaryPath, { text, mode }, async () => {
    await link(temporaryPath, path).catch(async (error: NodeJS.ErrnoException) => {
      if (!withoutLinks.has(error.code ?? '')) throw error;
      await copyFile(temporaryPath, path, constants.COPYFILE_EXCL);
    });
    await rm(temporaryPath);
  });
}

/** What link(2) says on file systems that have no hard links, such as FAT. A copy that fails is removed (uv_fs_copyfile). */
const withoutLinks: ReadonlySet<string> = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS']);

interface WholeFile {
  readonly text: string;
  readonly mode: number;
  readonly owner?: FileOwner | undefined;
}

async function writeBeside(
  path: string,
  temporaryPath: string,
  { text, mode, owner }: WholeFile,
  putInPlace: () => Promise<void>,
): Promise<void> {
  try {
    const file = await open(temporaryPath, 'wx', ownerOnly);
    try {
      if (owner !== undefined) await file.chown(owner.user, owner.group);
      if (mode !== ownerOnly) await file.chmod(mode);
      await file.writeFile(text, 'utf8');
      // Before it gets its name: otherwise a power failure can leave an empty file under that name.
      await file.sync();
    } finally {
      await file.close();
    }
    await putInPlace();
  } catch (error) {
    await rm(temporaryPath, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(path));
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

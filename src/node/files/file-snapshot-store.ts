import { randomBytes } from 'node:crypto';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { sealedRenewalLimit, sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import type { SnapshotStore, StoredSnapshot } from '../../snapshot/receiving/snapshot-store.ts';
import {
  parseStoredSnapshotText,
  storedSnapshotText,
} from '../../snapshot/receiving/stored-snapshot-text.ts';
import { checkReplaceable } from './replaceable-file.ts';

/**
 * Keeps the snapshot in one file: the sealed snapshot on the first line, its last renewal on the second. A
 * file that holds nothing but a sealed snapshot, as `sync --out` writes it, can be put in its place by hand.
 *
 * A save replaces the file whole: the new one is written beside it, brought to the disk and renamed over it,
 * so that a crash or a full disk at any moment leaves the old one or the new one, never a part. One process
 * may use one path: `load` clears away what a crashed writer has left beside it.
 *
 * @param path the file; its directory must exist.
 * @param isUnsigned what is in it is signed by nobody, so that it is read only where nobody else can have written it
 *
 * @example
 * ```ts
 * const store = createFileSnapshotStore(join(folder, 'snapshot'));
 * console.log(await store.load()); // undefined
 * ```
 */
export function createFileSnapshotStore(path: string, isUnsigned = false): SnapshotStore {
  const directory = dirname(path);
  const prefix = `.${basename(path)}.`;

  // One at a time: a slow save never ends after, and undoes, a later one, and `load` clears away only what is dead.
  let lastTurn: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const turn = lastTurn.then(work);
    lastTurn = turn.catch(() => undefined);
    return turn;
  };

  return {
    load: () =>
      inTurn(async () => {
        await removeLeftovers(directory, prefix);
        return readStored(path, isUnsigned);
      }),
    save: (stored) =>
      inTurn(() => {
        const temporaryPath = join(directory, `${prefix}${randomBytes(8).toString('hex')}.tmp`);
        return replaceFile(path, temporaryPath, storedSnapshotText(stored));
      }),
  };
}

async function readStored(path: string, isUnsigned: boolean): Promise<StoredSnapshot | undefined> {
  const file = await open(path, 'r').catch(unlessMissing);
  if (file === undefined) return undefined;
  try {
    const { size, uid, mode } = await file.stat();
    if (isUnsigned) requireOwnFile(path, uid, mode);
    // Both lines and their ends. Larger than that, nothing in it can be accepted: not worth the memory.
    const limit = sealedSnapshotLimit + sealedRenewalLimit + 4;
    if (size > limit) throw new Error(`${path} is larger than ${limit} bytes: it holds no snapshot.`);
    return parseStoredSnapshotText(await file.readFile('utf8'));
  } finally {
    await file.close();
  }
}

/** As ssh asks of its key files: whoever could write it could send requests wherever they like. */
function requireOwnFile(path: string, uid: number, mode: number): void {
  const isOwn = uid === 0 || uid === process.getuid?.();
  if (isOwn && (mode & 0o022) === 0) return;
  throw new Error(
    `${path} can be written by others, and what is in it is not signed: give it to the user of the router alone (chmod 600)`,
  );
}

async function replaceFile(path: string, temporaryPath: string, text: string): Promise<void> {
  await checkReplaceable(path);
  try {
    // 0600: addresses and versions of a control plane are nobody else's business.
    const file = await open(temporaryPath, 'wx', 0o600);
    try {
      await file.writeFile(text, 'utf8');
      // Before the rename: otherwise a power failure can leave the new name with none of the new content.
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(temporaryPath, path);
  } catch (error) {
    await rm(temporaryPath, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncDirectory(dirname(path));
}

/** The rename itself reaches the disk with the directory (fsync(2): syncing a file does not sync its entry). */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function removeLeftovers(directory: string, prefix: string): Promise<void> {
  const names = (await readdir(directory).catch(unlessMissing)) ?? [];
  const leftovers = names.filter((name) => name.startsWith(prefix) && name.endsWith('.tmp'));
  // They only take up room: failing to remove one is no reason not to start.
  await Promise.all(
    leftovers.map((name) => rm(join(directory, name), { force: true }).catch(() => undefined)),
  );
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}

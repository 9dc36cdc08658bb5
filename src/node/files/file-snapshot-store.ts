import { randomBytes } from 'node:crypto';
import { open, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { withDeadline } from '../../runtime/time.ts';
import { sealedSnapshotLimit } from '../../snapshot/format/limits.ts';
import type { SnapshotStore } from '../../snapshot/receiving/snapshot-store.ts';
import { replaceFile } from './write-whole-file.ts';

const writeTimeout = 10_000;

/**
 * Stores the sealed snapshot in one file, on two lines, as `sync --out` writes it.
 *
 * A save is atomic: the new file is written next to the old one, synced and renamed over it. A crash or a full disk leaves
 * the old or the new file, never a part. Only one process may use a path: `load` deletes temporary files of a crashed
 * writer.
 *
 * @param path the file; its directory must exist.
 * @param isUnsigned whether the snapshot has no signature: then the file is only read if no other user can have written it
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

  // One at a time: a slow save must not undo a later one, and `load` must not delete a file that is being written.
  let lastTurn: Promise<unknown> = Promise.resolve();
  /** A mount can hang for hours: the snapshot is in use without the file, and no second write waits behind the first. */
  let isStuck = false;
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
    save: (sealed) =>
      inTurn(async () => {
        if (isStuck) throw new Error(`${path}: the write before has not ended`);
        const temporaryPath = join(directory, `${prefix}${randomBytes(8).toString('hex')}.tmp`);
        const writing = replaceFile(path, temporaryPath, `${sealed}\n`);
        isStuck = true;
        const ended = () => {
          isStuck = false;
        };
        writing.then(ended, ended);
        const late = () => new Error(`${path} was not written within ${writeTimeout} ms`);
        await withDeadline(writeTimeout, undefined, late, () => writing);
      }),
  };
}

async function readStored(path: string, isUnsigned: boolean): Promise<string | undefined> {
  const file = await open(path, 'r').catch(unlessMissing);
  if (file === undefined) return undefined;
  try {
    const { size, uid, mode } = await file.stat();
    if (isUnsigned) requireOwnFile(path, uid, mode);
    if (size > sealedSnapshotLimit)
      throw new Error(`${path} is larger than ${sealedSnapshotLimit} bytes: it is not a snapshot.`);
    return (await file.readFile('utf8')).trimEnd();
  } finally {
    await file.close();
  }
}

/** As ssh checks its key files: a user who can write the file could redirect requests. */
function requireOwnFile(path: string, uid: number, mode: number): void {
  const isOwn = uid === 0 || uid === process.getuid?.();
  if (isOwn && (mode & 0o022) === 0) return;
  throw new Error(
    `${path} can be written by others, and what is in it is not signed: give it to the user of the router alone (chmod 600)`,
  );
}

async function removeLeftovers(directory: string, prefix: string): Promise<void> {
  const names = (await readdir(directory).catch(unlessMissing)) ?? [];
  const leftovers = names.filter((name) => name.startsWith(prefix) && name.endsWith('.tmp'));
  // Best effort: they only take up space.
  await Promise.all(
    leftovers.map((name) => rm(join(directory, name), { force: true }).catch(() => undefined)),
  );
}

function unlessMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code === 'ENOENT') return undefined;
  throw error;
}

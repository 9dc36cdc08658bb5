import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { makeDirectory } from '../src/node/files/make-directory.ts';
import { fileErrorMessage } from '../src/runtime/errors.ts';

/** Holds the process ID of the demo that the directory belongs to. */
const markerFile = 'demo.pid';

/** A directory that one running demo has for itself. */
export interface DemoDirectory {
  path(name: string): string;
  /** Removes the directory and everything in it. */
  remove(): Promise<void>;
}

/**
 * Takes a directory for this demo: a new or empty one, or one that a demo which is gone has left behind.
 *
 * Everything in it is removed at the end, so one that holds anything else is never taken, nor that of a demo that
 * still runs.
 * @throws {Error} saying which other directory to take
 */
export async function takeDirectory(directory: string): Promise<DemoDirectory> {
  const isMade = await makeDirectory(resolve(directory)).catch((cause: unknown) => {
    throw new Error(`--directory: ${directory} cannot be made: ${fileErrorMessage(cause)}`, { cause });
  });
  if (!isMade) throw new Error(`--directory: ${directory} is a file, or below one: name a directory`);
  const path = (name: string): string => join(directory, name);
  const entries = await readdir(directory);
  if (entries.length > 0) {
    const pid = entries.includes(markerFile) ? Number(await readFile(path(markerFile), 'utf8')) : undefined;
    if (pid === undefined) {
      throw new Error(`${directory} holds other things: name an empty or a new one with --directory`);
    }
    if (isRunning(pid)) {
      throw new Error(
        `a demo already runs in ${directory} (process ${pid}): name another one with --directory`,
      );
    }
    for (const entry of entries) await rm(path(entry), { recursive: true, force: true });
  }
  // Exclusive: of two that start at the same moment one gets it.
  await writeFile(path(markerFile), `${process.pid}\n`, { flag: 'wx' });
  return { path, remove: () => rm(directory, { recursive: true, force: true }) };
}

function isRunning(pid: number): boolean {
  try {
    // Signal 0 sends nothing and tells whether there is somebody (kill(2)).
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

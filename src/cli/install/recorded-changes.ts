import { errorMessage } from '../../runtime/errors.ts';
import type { FileChange } from './file-change.ts';
import type { HostFiles } from './host-files.ts';
import { type Journal, withChange, writeJournal } from './journal.ts';
import { InstallationRefused } from './wait-until.ts';

/** Tells the user a line of progress. */
export type Say = (line: string) => Promise<void>;

/**
 * Changes files, each after it has been recorded, so that a run that is cut off can be taken back.
 * @param path where the journal is kept
 */
export function recordedChanges(path: string, journal: Journal, files: HostFiles, say: Say) {
  let recorded = journal;
  const changes: FileChange[] = [];
  return {
    /** In their order. */
    changes: (): readonly FileChange[] => changes,
    /** What has been changed so far. */
    journal: () => recorded,
    async make(change: FileChange): Promise<void> {
      recorded = withChange(recorded, change);
      await writeJournal(path, recorded, files);
      changes.push(change);
      await files.write(change);
      await say(`written: ${change.path}`);
    },
  };
}

/** Makes one change of those that take an installation back. */
export async function takeBackChange(change: FileChange, files: HostFiles, say: Say): Promise<void> {
  await files.write(change);
  await say(`${change.after === undefined ? 'removed' : 'put back'}: ${change.path}`);
}

/** Removes what killed runs have left beside the files that a journal names. */
export async function tidyUp(path: string, journal: Journal, files: HostFiles): Promise<void> {
  for (const each of [path, ...journal.files.map((file) => file.path)]) await files.tidy(each);
}

/**
 * Ends an installation that has failed by putting everything back.
 * @param undo the command that does so once more
 * @throws {InstallationRefused} always: what has failed, and whether everything is as before
 */
export async function refuseAndPutBack(
  cause: unknown,
  putBack: () => Promise<void>,
  undo: string,
  say: Say,
): Promise<never> {
  const reason = errorMessage(cause);
  await say(`failed: ${reason}`);
  await putBack().catch((error: unknown) => {
    throw new InstallationRefused(
      `${reason}\nnot everything could be put back: ${errorMessage(error)}. See to it, then: ${undo}`,
      { cause: error },
    );
  });
  throw new InstallationRefused(`${reason}\neverything has been put back`, { cause });
}

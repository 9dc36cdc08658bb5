import { stat } from 'node:fs/promises';
import type { Snapshot } from '../../snapshot/format/types.ts';
import { snapshotFromFolder } from '../../sync/node/snapshot-from-folder.ts';
import { readSnapshotInput } from '../snapshot/snapshot-input.ts';
import { type CommandContext, CommandFailure } from '../terminal/command-context.ts';
import type { Finding } from './finding.ts';

export interface UpgradeSide {
  readonly snapshot: Snapshot;
  /** What its recording does not tell. */
  readonly findings: readonly Finding[];
}

/**
 * Reads one side of an upgrade: a snapshot, or the folder that `sync --record` made, which also tells of schemas.
 * @param flag that names `path`
 * @throws {CommandFailure} exit code 2 when nothing can be read of it
 */
export async function readUpgradeSide(
  flag: string,
  path: string,
  context: CommandContext,
): Promise<UpgradeSide> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isFolder) {
    const { table } = await readSnapshotInput(context, path, undefined);
    return { snapshot: table.snapshot, findings: [] };
  }
  const { snapshot, warnings } = await snapshotFromFolder(path, { comparesSchemas: 'always' }).catch(
    (cause: unknown) => {
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new CommandFailure(
        2,
        [`${flag}: ${path} is no recording of a cluster (sync --record): ${reason}`],
        { cause },
      );
    },
  );
  if (snapshot === undefined) {
    throw new CommandFailure(2, [
      `${flag}: ${path} tells of no API server: ${warnings[0] ?? 'no folder of a server is in it'}`,
    ]);
  }
  return {
    snapshot,
    findings: warnings.map((message) => ({ check: `recording ${path}`, result: 'warning', message })),
  };
}

import type { SnapshotIssue } from '../snapshot/issues.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../snapshot/keys.ts';
import { type CommandContext, CommandFailure, readInputFile } from './command-context.ts';

/** Reads the public keys that `--snapshot-keys` names. @throws {CommandFailure} with every fault of the file. */
export async function readSnapshotKeysInput(context: CommandContext, path: string): Promise<PinnedKeySet> {
  const result = await parseSnapshotKeys(readInputFile(context, '--snapshot-keys', path));
  if (result.ok) return result.keys;
  throw new CommandFailure(
    2,
    result.issues.map((issue) => `--snapshot-keys: ${describeKeysIssue(path, issue)}`),
  );
}

/** Words a fault of a key file. What the file holds is left out: it may be a private key given by mistake. */
export function describeKeysIssue(file: string, issue: SnapshotIssue): string {
  const message = issue.message.replace(/^(is not JSON)\b.*$/s, '$1');
  return issue.path === '' ? `${file} ${message}` : `${file}: ${issue.path} ${message}`;
}

import { describeKeysIssue } from '../../snapshot/signing/describe-keys-issue.ts';
import { type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { type CommandContext, CommandFailure, readInputFile } from '../terminal/command-context.ts';

/** Reads the public keys that `--snapshot-keys` names. @throws {CommandFailure} with every fault of the file. */
export async function readSnapshotKeysInput(context: CommandContext, path: string): Promise<PinnedKeySet> {
  const result = await parseSnapshotKeys(readInputFile(context, '--snapshot-keys', path));
  if (result.ok) return result.keys;
  throw new CommandFailure(
    2,
    result.issues.map((issue) => `--snapshot-keys: ${describeKeysIssue(path, issue)}`),
  );
}

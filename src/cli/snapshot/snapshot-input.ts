import { base64url } from 'jose';
import type { DocumentIssue } from '../../runtime/validation.ts';
import { parseSnapshotText } from '../../snapshot/format/parse-snapshot.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import { SnapshotError } from '../../snapshot/format/snapshot-error.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { describeKeysIssue, type PinnedKeySet, parseSnapshotKeys } from '../../snapshot/signing/keys.ts';
import { openSnapshot, partsOfSealed } from '../../snapshot/signing/open-sealed.ts';
import { type CommandContext, CommandFailure, readInputFile } from '../terminal/command-context.ts';

interface SnapshotInput {
  readonly table: RoutingTable;
  /** Notes for a reader of the snapshot, such as that no signature was checked. */
  readonly notes: readonly string[];
}

/**
 * Reads a snapshot file to look at: plain JSON, or signed as routers take and store it. With keys, the signature must hold;
 * without, only the content of the snapshot is looked at, and the notes say so.
 * @param name the flag or argument that names the file
 * @throws {CommandFailure} exit code 2, one line for each error with its path.
 */
export async function readSnapshotInput(
  context: CommandContext,
  name: string,
  path: string,
  keysPath: string | undefined,
): Promise<SnapshotInput> {
  const keys = keysPath === undefined ? undefined : await readSnapshotKeysInput(context, keysPath);
  const text = readInputFile(context, name, path).trim();
  if (/^[[{]/.test(text)) {
    if (keys !== undefined) {
      throw new CommandFailure(2, [`${path} is not signed, so --snapshot-keys cannot be applied to it`]);
    }
    const table = buildRoutingTable(await parse(path, text));
    return { table, notes: ['the snapshot is not signed: no router takes it'] };
  }
  if (keys !== undefined) return openSealed(path, text, keys);
  const { jws, sets } = partsOfSealed(text);
  return {
    table: buildRoutingTable(await parse(path, payloadText(path, jws), sets)),
    notes: ['the signature of the snapshot was not checked: give --snapshot-keys'],
  };
}

async function openSealed(path: string, sealed: string, keys: PinnedKeySet): Promise<SnapshotInput> {
  try {
    const { snapshot, kid } = await openSnapshot(sealed, keys);
    return { table: buildRoutingTable(snapshot), notes: [`the snapshot is signed with key ${kid}`] };
  } catch (cause) {
    if (!(cause instanceof SnapshotError)) throw cause;
    const lines =
      cause.issues.length > 0 ? issueLines(path, cause.issues) : [`${path}: ${cause.code}: ${cause.message}`];
    throw new CommandFailure(2, lines, { cause });
  }
}

async function parse(path: string, text: string, sets?: string): Promise<Snapshot> {
  const parsed = await parseSnapshotText(text, sets);
  if (parsed.ok) return parsed.snapshot;
  throw new CommandFailure(2, issueLines(path, parsed.issues));
}

function issueLines(file: string, issues: readonly DocumentIssue[]): string[] {
  return issues.map(({ path, message }) =>
    path === '' ? `${file} ${message}` : `${file}: ${path} ${message}`,
  );
}

/** The payload of a compact JWS (RFC 7515 section 7.1), its signature left aside. */
function payloadText(path: string, text: string): string {
  const parts = text.split('.');
  try {
    if (parts.length !== 3) throw new TypeError('not three parts');
    return new TextDecoder('utf-8', { fatal: true }).decode(base64url.decode(parts[1] ?? ''));
  } catch (cause) {
    const isCutOff = /^eyJ[\w-]*(\.[\w-]*)?$/.test(text);
    const reason = isCutOff
      ? `${path} is cut off: a compact JWS has three parts, this one has ${parts.length}`
      : `${path} is neither JSON nor a compact JWS`;
    throw new CommandFailure(2, [reason], { cause });
  }
}

/** Reads the public keys that `--snapshot-keys` names. @throws {CommandFailure} with every error of the file. */
export async function readSnapshotKeysInput(context: CommandContext, path: string): Promise<PinnedKeySet> {
  const result = await parseSnapshotKeys(readInputFile(context, '--snapshot-keys', path));
  if (result.ok) return result.keys;
  throw new CommandFailure(
    2,
    result.issues.map((issue) => `--snapshot-keys: ${describeKeysIssue(path, issue)}`),
  );
}

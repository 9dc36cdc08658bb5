import { readdir } from 'node:fs/promises';
import type { JWK } from 'jose';
import { systemClock } from '../../runtime/time.ts';
import { signingKeyOf } from '../../snapshot/signing/seal.ts';
import type { ServerDescription } from '../cluster/sync-server.ts';
import type { SnapshotOptions } from '../content/build-snapshot.ts';
import { type SyncOnceResult, syncOnce } from '../sync-once.ts';
import type { SyncOptions } from '../sync-options.ts';
import { type FileTargetOptions, fileTarget } from './file-target.ts';
import { recordedDocuments } from './recorded-documents.ts';

export interface SnapshotFromFolderOptions extends SnapshotOptions, Pick<SyncOptions, 'alwaysReadsSchemas'> {
  /**
   * Further descriptions of the servers, by ID (the name of the folder). A server without an address here gets
   * `<id>.recorded.invalid:6443`, a name that never resolves (RFC 6761 section 6.4): decisions name it as a peer, and no
   * request is ever sent there.
   */
  readonly servers?: Readonly<Record<string, Omit<ServerDescription, 'id'>>> | undefined;
  /** Files to write the snapshot to. The results are in `deliveries`. */
  readonly files?: readonly FileTargetOptions[] | undefined;
  /** Private JWK; without it only unsigned files can be written. */
  readonly signingKey?: JWK | undefined;
  /** Milliseconds since the epoch; default now. Gives the creation time and the generation. */
  readonly now?: number | undefined;
}

/**
 * Makes a snapshot of a recorded cluster, offline: one folder per server, in the form of test/fixtures/README.md. Missing
 * documents are in `warnings`.
 *
 * @throws if `folder` cannot be listed, {TypeError} if it has no server, or not all of `servers`
 *
 * @example
 * ```ts
 * const { snapshot } = await snapshotFromFolder('test/fixtures/kubernetes-1.25-1.26');
 * console.log(snapshot?.servers.map(({ id }) => id)); // [ 'a', 'b' ]
 * ```
 */
export async function snapshotFromFolder(
  folder: string,
  options: SnapshotFromFolderOptions = {},
): Promise<SyncOnceResult> {
  const entries = await readdir(folder, { withFileTypes: true });
  const ids = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  const servers = ids.map(({ name }) => name).sort();
  const unknown = Object.keys(options.servers ?? {}).filter((id) => !servers.includes(id));
  if (unknown.length > 0) {
    throw new TypeError(`${folder} has no recording of server ${unknown.join(', ')}.`);
  }
  const { now, cluster, alwaysReadsSchemas } = options;
  return syncOnce(
    {
      servers: servers.map((id) => ({
        ...describeServer(id, options.servers?.[id]),
        documents: recordedDocuments(folder, id),
      })),
      targets: (options.files ?? []).map(fileTarget),
      signingKey: options.signingKey === undefined ? undefined : signingKeyOf(options.signingKey),
      alwaysReadsSchemas,
      snapshot: { cluster },
      ...(now === undefined ? {} : { clock: { ...systemClock, now: () => now } }),
    },
    new AbortController().signal,
  );
}

function describeServer(id: string, given: Omit<ServerDescription, 'id'> = {}): ServerDescription {
  const reachable = given.address !== undefined || given.url !== undefined;
  return reachable
    ? { id, addressSource: 'listed', ...given }
    : { id, ...given, address: `${id}.recorded.invalid:6443` };
}

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { minorVersion } from '../../apimachinery/server-version.ts';
import { systemClock } from '../../runtime/clock.ts';
import { snapshotLimits } from '../../snapshot/format/limits.ts';
import { signingKeyOf } from '../../snapshot/signing/signing-key.ts';
import type { ServerDescription } from '../cluster/sync-server.ts';
import type { SnapshotOptions } from '../content/build-snapshot.ts';
import { type SyncOnceResult, syncOnce } from '../sync-once.ts';
import type { SyncOptions } from '../sync-options.ts';
import { type FileTargetOptions, fileTarget } from './file-target.ts';
import { recordedDocuments } from './recorded-documents.ts';

export interface SnapshotFromFolderOptions extends SnapshotOptions, Pick<SyncOptions, 'comparesSchemas'> {
  /**
   * Further descriptions of the servers, by ID (the name of the folder). A server without an address here gets
   * `<id>.recorded.invalid:6443`, a name that never resolves (RFC 6761 section 6.4): decisions name it as a peer, and no
   * request is ever sent there.
   */
  readonly servers?: Readonly<Record<string, Omit<ServerDescription, 'id'>>> | undefined;
  /** Default: ten years, because a recording does not age. */
  readonly lifetimeSeconds?: number | undefined;
  /** Files to write the snapshot to. The results are in `deliveries`. */
  readonly files?: readonly FileTargetOptions[] | undefined;
  /** Private JWK; without it only unsigned files can be written. */
  readonly signingKey?: JWK | undefined;
  /** Milliseconds since the epoch; default now. Gives the creation time and the generation. */
  readonly now?: number | undefined;
}

/**
 * Makes a snapshot of a recorded cluster, offline: one folder per server, in the form of test/fixtures/README.md. Missing
 * documents are in `warnings`. A recording without any OpenAPI v3 document says nothing of how servers understand
 * resources: they are not compared, unless `comparesSchemas` is `always`.
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
  const { now, cluster, lifetimeSeconds = snapshotLimits.lifetimeSeconds, comparesSchemas = true } = options;
  const isComparable = comparesSchemas === 'always' || (await hasSchemas(folder, servers));
  const result = await syncOnce(
    {
      servers: servers.map((id) => ({
        ...describeServer(id, options.servers?.[id]),
        documents: recordedDocuments(folder, id),
      })),
      targets: (options.files ?? []).map(fileTarget),
      signingKey: options.signingKey === undefined ? undefined : signingKeyOf(options.signingKey),
      comparesSchemas: isComparable && comparesSchemas,
      snapshot: { cluster, lifetimeSeconds },
      ...(now === undefined ? {} : { clock: { ...systemClock, now: () => now } }),
    },
    new AbortController().signal,
  );
  const versions = new Set(result.snapshot?.servers.map(({ version }) => minorVersion(version)));
  if (isComparable || comparesSchemas === false || versions.size < 2) return result;
  return { ...result, warnings: [...result.warnings, withoutSchemas] };
}

const withoutSchemas =
  'the recording holds no OpenAPI v3 documents, so resources that several versions serve count as the same in each';

/** Whether any server's documents of group versions were recorded; their index alone says nothing. */
async function hasSchemas(folder: string, servers: readonly string[]): Promise<boolean> {
  const files = await Promise.all(servers.map((server) => readdir(join(folder, server))));
  return files.flat().some((name) => name.startsWith('openapi_v3_'));
}

function describeServer(id: string, given: Omit<ServerDescription, 'id'> = {}): ServerDescription {
  const reachable = given.address !== undefined || given.url !== undefined;
  return reachable
    ? { id, addressSource: 'listed', ...given }
    : { id, ...given, address: `${id}.recorded.invalid:6443` };
}

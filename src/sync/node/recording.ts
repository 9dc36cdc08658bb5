import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { isDns1123Subdomain } from '../../apimachinery/names.ts';
import { systemClock } from '../../runtime/time.ts';
import { signingKeyOf } from '../../snapshot/signing/seal.ts';
import { gateLinesOf, metricsPath } from '../documents/feature-gates.ts';
import {
  ReadError,
  type ServerDocument,
  type ServerDocuments,
  type WatchConnection,
} from '../documents/server-documents.ts';
import type { ServerDescription } from '../documents/sync-server.ts';
import { WatchedCluster } from '../reading/cluster-source.ts';
import { runOnce, type SyncOnceResult } from '../sync-once.ts';
import type { SyncParts } from '../sync-parts.ts';
import { type FileTargetOptions, fileTarget } from './targets.ts';

/**
 * Writes what the sync job reads into a folder, one file per response (test/fixtures/README.md): for `--from` and for bug
 * reports. The sync job reads discovery, versions and the objects that routing needs, none of which contain secrets, and
 * no OpenAPI document of a custom resource.
 */
export interface Recording {
  ofServer(id: string, documents: ServerDocuments): ServerDocuments;
  ofCluster(connection: WatchConnection): WatchConnection;
}

/** @throws {TypeError} if the folder is not empty */
export async function openRecording(folder: string): Promise<Recording> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await readdir(folder);
  if (found.length > 0) {
    throw new TypeError(`${folder} is not empty: a recording is written into a folder of its own.`);
  }
  const byDocuments = new Map<ServerDocuments, ServerDocuments>();
  const recorded = (into: string, { get }: ServerDocuments): ServerDocuments['get'] => {
    return async (path, accept, signal) => {
      const document = await get(path, accept, signal);
      await mkdir(into, { recursive: true, mode: 0o700 });
      // 0600, as for snapshots: it has addresses and versions of the control plane.
      // Of its metrics only what is read of them: the rest tells of the cluster's load and users.
      const body = path === metricsPath ? gateLinesOf(document.body) : document.body;
      await writeFile(join(into, fileOf(path, document)), body, { mode: 0o600 });
      return document;
    };
  };
  return {
    ofServer(id, documents) {
      if (!isDns1123Subdomain(id))
        throw new TypeError(`${JSON.stringify(id)} is not the ID of an API server.`);
      // The same object for the same address: another one would be read as another server.
      const known = byDocuments.get(documents) ?? { get: recorded(join(folder, id), documents) };
      byDocuments.set(documents, known);
      return known;
    },
    ofCluster: (connection) => ({ ...connection, get: recorded(folder, connection) }),
  };
}

/**
 * The name of a response's file: `/apis/apps/v1` is kept in `apis__apps__v1.json`, a 404 for it in `apis__apps__v1.404.json`
 * or `.txt`, aggregated discovery apart from the classic document under the same path.
 */
function fileOf(path: string, { status, contentType, body }: ServerDocument): string {
  const isAggregated = /;\s*as=APIGroupDiscoveryList/i.test(contentType);
  const name = `${isAggregated ? aggregatedPrefix : ''}${nameOf(path)}`;
  const isJson = /^[^;]*\bjson\b/i.test(contentType) || /^[{[]/.test(body);
  return `${name}${status === 200 ? '' : `.${status}`}.${isJson ? 'json' : 'txt'}`;
}

const aggregatedPrefix = 'aggregated_';

/** @throws {ReadError} for a path that no file can be named after */
function nameOf(pathWithQuery: string): string {
  const [path = '', query = ''] = pathWithQuery.split('?', 2);
  if (!/^\/[a-z0-9.-]+(?:\/[a-z0-9.-]+)*$/i.test(path) || path.includes('..')) {
    throw new ReadError('Unreachable', `${path} is not the path of a recorded document`);
  }
  // One document of a server is under one path, whatever its hash; how it was listed says nothing.
  const counted = query
    .split('&')
    .filter((each) => each !== '' && !/^(?:hash|limit|resourceVersion)=/.test(each));
  const selection = counted.map((each) => `@${each.replaceAll('/', '%2F')}`).join('');
  return `${path.slice(1).replaceAll('/', '__')}${selection}`;
}

/** Under a recording made by hand: `leases` for `/apis/coordination.k8s.io/v1/namespaces/kube-system/leases`. */
function handNameOf(pathWithQuery: string): string {
  const path = pathWithQuery.split('?', 1)[0] ?? '';
  return path === '/openapi/v3' ? 'openapi_v3' : path.slice(path.lastIndexOf('/') + 1);
}

/** A recording made by hand has what was refused, a Status, under the name of the document. */
function statusInBody(body: string): number | undefined {
  const code = /^\{\s*"kind":\s*"Status",.*"code":\s*(\d{3})\s*\}\s*$/s.exec(body)?.[1];
  return code === undefined ? undefined : Number(code);
}

/** Recorded responses, from the first folder that has one. A missing file is a document that could not be read. */
function replayed(folders: readonly string[]): ServerDocuments {
  const recorded = folders.map(recordedIn);
  return {
    async get(path, accept) {
      const name = nameOf(path);
      const names = [
        ...(accept.includes('as=') ? [`${aggregatedPrefix}${name}`] : []),
        name,
        handNameOf(path),
      ];
      for (const files of await Promise.all(recorded)) {
        for (const file of names.flatMap((each) => files.get(each) ?? [])) {
          const body = await readFile(file.path, 'utf8').catch((cause: unknown) => {
            throw new ReadError('Unreachable', `${file.path} cannot be read`, { cause });
          });
          const status = statusInBody(body) ?? file.status;
          // Recorded with an Accept header that permits the aggregated form only.
          if (status !== 406) return { ...file, body, status };
        }
      }
      throw new ReadError('Unreachable', `${join(folders[0] ?? '', name)}.json does not exist`);
    },
  };
}

/** Objects that all servers share, as they were recorded: nothing changes any more. */
function replayedCluster(folders: readonly string[]): WatchConnection {
  return {
    ...replayed(folders),
    watch: (_path, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  };
}

type RecordedFile = Pick<ServerDocument, 'status' | 'contentType'> & { readonly path: string };

async function recordedIn(folder: string): Promise<ReadonlyMap<string, RecordedFile>> {
  const files = new Map<string, RecordedFile>();
  for (const file of await readdir(folder)) {
    const [, name, status = '200', type] = /^(.*?)(?:\.(\d{3}))?\.(json|txt)$/.exec(file) ?? [];
    if (name === undefined) continue;
    const contentType = type === 'json' ? 'application/json' : 'text/plain';
    files.set(name, { path: join(folder, file), status: Number(status), contentType });
  }
  return files;
}

export interface SnapshotFromFolderOptions extends Pick<SyncParts, 'cluster' | 'alwaysReadsSchemas'> {
  /**
   * Further descriptions of the servers, whose ID is the name of the folder. A server without an address here gets
   * `<id>.recorded.invalid:6443`, a name that never resolves (RFC 6761 section 6.4): decisions name it as a peer, and no
   * request is ever sent there.
   */
  readonly servers?: readonly ServerDescription[] | undefined;
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
  const folders = entries.filter((entry) => entry.isDirectory() && !entry.name.startsWith('.'));
  const servers = folders.map(({ name }) => name).sort();
  const { now, cluster, alwaysReadsSchemas, servers: described = [] } = options;
  if (servers.length === 0) throw new TypeError(`${folder} has no server to read: no folder is in it.`);
  const ids = described.map(({ id }) => id);
  const repeated = ids.find((id, index) => ids.indexOf(id) !== index);
  if (repeated !== undefined) throw new TypeError(`Server ${repeated} is listed twice.`);
  const unknown = ids.filter((id) => !servers.includes(id));
  if (unknown.length > 0) {
    throw new TypeError(`${folder} has no recording of server ${unknown.join(', ')}.`);
  }
  const clock = { ...systemClock, ...(now === undefined ? {} : { now: () => now }) };
  const documents = new Map(servers.map((id) => [id, replayed([join(folder, id), folder])]));
  const connection = replayedCluster([folder, ...servers.map((id) => join(folder, id))]);
  const listed = servers.map((id) => withAddress(described.find((each) => each.id === id) ?? { id }));
  return runOnce(
    {
      clusterSource: new WatchedCluster({
        connection,
        documentsOf: ({ id }) => documents.get(id),
        listed,
        clock,
      }),
      targets: (options.files ?? []).map(fileTarget),
      signingKey: options.signingKey === undefined ? undefined : signingKeyOf(options.signingKey),
      alwaysReadsSchemas,
      cluster,
      clock,
    },
    new AbortController().signal,
  );
}

function withAddress(server: ServerDescription): ServerDescription {
  const isReachable = server.address !== undefined || server.url !== undefined;
  return isReachable
    ? { addressSource: 'listed', ...server }
    : { ...server, address: `${server.id}.recorded.invalid:6443` };
}

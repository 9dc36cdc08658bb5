import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { JWK } from 'jose';
import { isDns1123Subdomain } from '../../apimachinery/names.ts';
import { parseAPIGroupList, parseAPIVersions } from '../../discovery/forms/classic.ts';
import { parseOpenApiV3Index } from '../../discovery/own-documents.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { createLimiter, systemClock } from '../../runtime/time.ts';
import { signingKeyOf } from '../../snapshot/signing/seal.ts';
import type { SnapshotOptions } from '../build-snapshot.ts';
import { apiEndpointsPath, apiEndpointsSelector } from '../endpoints.ts';
import { identityLeaseSelectors, leasesPath } from '../leases.ts';
import {
  groupVersionPath,
  indexedGroupVersions,
  listedGroupVersions,
  withGroupVersions,
} from '../read-server.ts';
import type { SyncParts } from '../round.ts';
import {
  listObjectsIfServed,
  ReadError,
  type ServerDocument,
  type ServerDocuments,
  withLabelSelector,
  withoutQuery,
} from '../server-documents.ts';
import {
  apiServicesPath,
  type ClusterObjects,
  customResourceDefinitionsPath,
  readClusterObjects,
  sharedGroupVersions,
} from '../shared-objects.ts';
import { storageVersionsPath } from '../storage-versions.ts';
import { runOnce, type SyncOnceResult } from '../sync-once.ts';
import type { ServerDescription } from '../sync-server.ts';
import { documentsIn } from '../sync-server.ts';
import { openServers } from './open-cluster.ts';
import type { ReadingOptions } from './sync-options.ts';
import { type FileTargetOptions, fileTarget } from './targets.ts';

interface RecordClusterOptions {
  readonly servers: readonly { readonly id: string; readonly documents: ServerDocuments }[];
  /** Created if needed; must be empty. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

interface RecordResult {
  /** What could not be recorded, and why. Empty: the folder has everything. */
  readonly issues: readonly string[];
  /** Files written. */
  readonly files: number;
}

/** Documents read at once from one server. */
const concurrentDocuments = 8;

/** This form has only the server's own resources, on every version that has it (aggregated/wrapper.go). */
const aggregatedAccept = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

/**
 * Saves what the sync job reads, in the form of test/fixtures/README.md: for `--from` and for bug reports. It requests
 * only discovery, versions and the objects that routing needs, none of which contain secrets.
 *
 * @throws {TypeError} if the folder is not empty, or a server's ID cannot be the name of a folder; then nothing has been
 *   written
 */
export async function recordCluster({
  servers,
  folder,
  signal,
}: RecordClusterOptions): Promise<RecordResult> {
  for (const { id } of servers) {
    if (!isDns1123Subdomain(id)) throw new TypeError(`${JSON.stringify(id)} is not the ID of an API server.`);
  }
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const found = await readdir(folder);
  if (found.length > 0) {
    throw new TypeError(`${folder} is not empty: a recording is written into a folder of its own.`);
  }
  const issues: string[] = [];
  let files = 0;
  const write = async (file: string, text: string) => {
    // 0600, as for snapshots: it has addresses and versions of the control plane.
    await writeFile(join(folder, file), text, { flag: 'wx', mode: 0o600 });
    files++;
  };
  const all = servers.map(({ documents }) => documents);
  const recording: Recording = { objects: readClusterObjects(all, signal), signal, write, issues };
  await Promise.all([
    ...sharedLists.map((list) => recordList(list, all, recording)),
    ...servers.map(async ({ id, documents }) => {
      await mkdir(join(folder, id), { mode: 0o700 });
      const writeOwn: Recording['write'] = (file, text) => write(join(id, file), text);
      await recordServer(id, documents, { ...recording, write: writeOwn });
    }),
  ]);
  return { issues, files };
}

/**
 * Records one cluster of running servers. @throws as `recordCluster` does
 */
export async function runRecording(
  options: ReadingOptions,
  folder: string,
  signal: AbortSignal,
): Promise<RecordResult> {
  const { servers, close } = openServers(options);
  try {
    return await recordCluster({ servers, folder, signal });
  } finally {
    close();
  }
}

interface Recording {
  readonly objects: Promise<ClusterObjects>;
  readonly signal: AbortSignal;
  readonly write: (file: string, text: string) => Promise<void>;
  readonly issues: string[];
}

/** Records a list from the first server that has it completely. It is no error if no server has it. */
async function recordList(
  { paths, file, kind, apiVersion }: SharedList,
  servers: readonly ServerDocuments[],
  { signal, write, issues }: Recording,
): Promise<void> {
  let issue: string | undefined;
  for (const documents of servers) {
    try {
      const lists = await Promise.all(paths.map((path) => listObjectsIfServed(documents, path, signal)));
      if (lists.includes(undefined)) continue;
      const items = lists.flatMap((list) => list?.items ?? []);
      await write(file, `${JSON.stringify({ kind, apiVersion, metadata: {}, items }, null, 2)}\n`);
      return;
    } catch (error) {
      issue = errorMessage(error);
    }
  }
  if (issue !== undefined) issues.push(`${file}: ${issue}`);
}

async function recordServer(
  id: string,
  documents: ServerDocuments,
  { objects, signal, write, issues }: Recording,
): Promise<void> {
  const get = (path: string, accept = 'application/json') => documents.get(path, accept, signal);
  const attempt = async (what: string, record: () => Promise<void>) => {
    try {
      await record();
    } catch (error) {
      issues.push(`${id}/${what}: ${errorMessage(error)}`);
    }
  };
  const complete = async (path: string) => {
    const document = await get(path);
    if (document.status !== 200) throw new Error(`${withoutQuery(path)} returned ${document.status}`);
    await write(recordedFileName(withoutQuery(path)), document.body);
    return document;
  };
  const codes: string[] = [];
  const limit = createLimiter(concurrentDocuments);
  const index = complete('/openapi/v3').then(({ body }) => parseOpenApiV3Index(JSON.parse(body)));
  await Promise.all([
    attempt('version.json', async () => void (await complete('/version'))),
    attempt('openapi_v3.json', async () => {
      const paths = await index;
      // Only documents that the sync job compares: those of custom resources may be confidential.
      const { apiServices, customResourceGroups } = await objects;
      if (apiServices === undefined || customResourceGroups === undefined) return;
      const shared = sharedGroupVersions(apiServices, customResourceGroups);
      const own = [...documentsIn(paths)].filter(([groupVersion]) => !shared.has(groupVersion));
      await Promise.all(
        own.map(([, url]) => {
          const file = recordedFileName(withoutQuery(url));
          return limit(() => attempt(file, async () => void (await complete(url))));
        }),
      );
    }),
    ...Object.entries(aggregatedFiles).map(([path, name]) =>
      attempt(`${name}.json`, async () => {
        const { status, contentType, body } = await get(path, aggregatedAccept);
        await write(`${name}.json`, body);
        await write(`${name}.ct`, `${status} ${contentType.replaceAll(' ', '')}\n`);
      }),
    ),
    attempt('apis.json', async () => {
      const [api, apis, paths] = await Promise.all([
        complete('/api'),
        complete('/apis'),
        index.catch(() => ({})),
      ]);
      // A server may serve group versions that `/apis` does not list (`readClassic`).
      const listed = listedGroupVersions(
        parseAPIVersions(JSON.parse(api.body)),
        withGroupVersions(
          parseAPIGroupList(JSON.parse(apis.body)),
          indexedGroupVersions({ kind: 'read', paths }),
        ),
      );
      await Promise.all(
        listed.map(groupVersionPath).map((path) =>
          limit(() =>
            attempt(recordedFileName(path), async () => {
              const { status, body } = await get(path);
              await write(recordedFileName(path), body);
              if (path.startsWith('/apis/')) codes.push(`${id} ${path} ${status}`);
            }),
          ),
        ),
      );
    }),
  ]);
  const lines = codes.sort().map((line) => `${line}\n`);
  await write('status.txt', lines.join(''));
}

/** A list that all servers of a cluster share through etcd, and its file in a recording. */
interface SharedList {
  readonly file: string;
  /** The collection, once per selector: the list has the objects of all of them. */
  readonly paths: readonly string[];
  readonly kind: string;
  readonly apiVersion: string;
}

const sharedLists: readonly SharedList[] = [
  {
    file: 'apiservices.json',
    paths: [apiServicesPath],
    kind: 'APIServiceList',
    apiVersion: 'apiregistration.k8s.io/v1',
  },
  {
    file: 'customresourcedefinitions.json',
    paths: [customResourceDefinitionsPath],
    kind: 'CustomResourceDefinitionList',
    apiVersion: 'apiextensions.k8s.io/v1',
  },
  {
    file: 'storageversions.json',
    paths: [storageVersionsPath],
    kind: 'StorageVersionList',
    apiVersion: 'internal.apiserver.k8s.io/v1alpha1',
  },
  {
    file: 'leases.json',
    // Only the identity Leases of API servers.
    paths: identityLeaseSelectors.map((selector) => withLabelSelector(leasesPath, selector)),
    kind: 'LeaseList',
    apiVersion: 'coordination.k8s.io/v1',
  },
  {
    file: 'endpointslices.json',
    paths: [withLabelSelector(apiEndpointsPath, apiEndpointsSelector)],
    kind: 'EndpointSliceList',
    apiVersion: 'discovery.k8s.io/v1',
  },
];

/** For recordings without this file: they are older, of clusters without custom resources. */
const noCustomResourceDefinitions = '{"kind":"CustomResourceDefinitionList","metadata":{},"items":[]}';

/** Path of an aggregated document to the name of its files, without `.json` and `.ct`. */
const aggregatedFiles: Readonly<Record<string, string>> = {
  '/api': 'aggregated_api',
  '/apis': 'aggregated_apis',
};

/**
 * The recorded documents of one server, from a cluster's folder with one folder per server (test/fixtures/README.md). A
 * missing file is a document that could not be read. A document that the server does not have has 404 in `status.txt`.
 *
 * @param clusterFolder holds `apiservices.json` and, where recorded, `customresourcedefinitions.json`
 * @param server name of the server's folder
 */
function recordedDocuments(clusterFolder: string, server: string): ServerDocuments {
  const folder = join(clusterFolder, server);
  let codes: Promise<ReadonlyMap<string, number>> | undefined;
  return {
    async get(pathWithQuery, accept) {
      const path = withoutQuery(pathWithQuery);
      if (path === apiServicesPath) return json(200, await read(join(clusterFolder, 'apiservices.json')));
      if (path === customResourceDefinitionsPath) {
        const recorded = await readIfPresent(join(clusterFolder, 'customresourcedefinitions.json'));
        return json(200, recorded ?? noCustomResourceDefinitions);
      }
      const aggregated = await aggregatedDocument(folder, path, accept);
      if (aggregated !== undefined) return aggregated;
      codes ??= readCodes(folder);
      // status.txt has the status of paths below /apis/ only; any other recorded document had 200.
      const code = (await codes).get(path) ?? 200;
      return json(code, await read(join(folder, recordedFileName(path))));
    },
  };
}

/**
 * `/apis/apps/v1` is kept in `apis__apps__v1.json`, `/openapi/v3` in `openapi_v3.json`.
 * @throws {ReadError} for a path that no document of a recording has
 */
function recordedFileName(path: string): string {
  if (!/^\/[a-z0-9.-]+(?:\/[a-z0-9.-]+)*$/i.test(path) || path.includes('..')) {
    throw new ReadError('Unreachable', `${path} is not the path of a recorded document`);
  }
  return `${path.slice(1).replaceAll('/', path.startsWith('/openapi/') ? '_' : '__')}.json`;
}

/**
 * Negotiates as kube-apiserver does: the first clause of Accept that was recorded with status 200.
 *
 * Only v2beta1 counts, which has only the server's own resources (aggregated/wrapper.go). The v2 document was recorded
 * without `profile=nopeer`, so from 1.35 on it may have resources of peers.
 */
async function aggregatedDocument(
  folder: string,
  path: string,
  accept: string,
): Promise<ServerDocument | undefined> {
  const name = aggregatedFiles[path];
  if (name === undefined) return undefined;
  const recorded = await readIfPresent(join(folder, `${name}.ct`));
  const [code, contentType = ''] = recorded?.trim().split(' ', 2) ?? [];
  const version = parameters(contentType).get('v');
  for (const clause of accept.split(',')) {
    const wanted = parameters(clause);
    if (wanted.get('as') === undefined) return undefined;
    if (code === '200' && version === 'v2beta1' && wanted.get('v') === version) {
      return { status: 200, contentType, body: await read(join(folder, `${name}.json`)) };
    }
  }
  return { status: 406, contentType: 'application/json', body: '' };
}

function parameters(mediaType: string): ReadonlyMap<string, string> {
  const [, ...pairs] = mediaType.split(';');
  return new Map(
    pairs.map((pair) => {
      const [name = '', value = ''] = pair.trim().split('=', 2);
      return [name.toLowerCase(), value];
    }),
  );
}

/** Lines of the form `<server> <path> <code>`. */
async function readCodes(folder: string): Promise<ReadonlyMap<string, number>> {
  const text = await readIfPresent(join(folder, 'status.txt'));
  const codes = new Map<string, number>();
  for (const line of text?.split('\n') ?? []) {
    const [, path, code] = line.trim().split(/\s+/);
    if (path !== undefined && code !== undefined) codes.set(path, Number(code));
  }
  return codes;
}

/** A 404 of kube-apiserver's mux is plain text; every other recorded document is JSON. */
function json(status: number, body: string): ServerDocument {
  const isText = status === 404 && !body.startsWith('{');
  return { status, contentType: isText ? 'text/plain' : 'application/json', body };
}

async function read(file: string): Promise<string> {
  const text = await readIfPresent(file);
  if (text !== undefined) return text;
  throw new ReadError('Unreachable', `${file} does not exist`);
}

async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return undefined;
    throw new ReadError('Unreachable', `${file} cannot be read`, { cause });
  }
}

export interface SnapshotFromFolderOptions extends SnapshotOptions, Pick<SyncParts, 'alwaysReadsSchemas'> {
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
  return runOnce(
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

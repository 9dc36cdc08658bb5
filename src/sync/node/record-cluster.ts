import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDns1123Subdomain } from '../../apimachinery/names.ts';
import { parseAPIGroupList, parseAPIVersions } from '../../discovery/forms/classic.ts';
import { parseOpenApiV3Index } from '../../discovery/own-documents.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { createLimiter } from '../../runtime/time.ts';
import { apiEndpointsPath, apiEndpointsSelector } from '../cluster/api-endpoints.ts';
import { apiServicesPath } from '../cluster/api-services.ts';
import { type ClusterObjects, readClusterObjects } from '../cluster/cluster-objects.ts';
import { customResourceDefinitionsPath } from '../cluster/custom-resource-groups.ts';
import { identityLeaseSelectors, leasesPath } from '../cluster/identity-lease.ts';
import { storageVersionsPath } from '../cluster/storage-versions.ts';
import { listObjectsIfServed, withLabelSelector } from '../documents/list-objects.ts';
import { type ServerDocuments, withoutQuery } from '../documents/server-documents.ts';
import {
  indexedGroupVersions,
  sharedGroupVersions,
  withGroupVersions,
} from '../servers/exclude-group-versions.ts';
import { groupVersionPath, listedGroupVersions } from '../servers/read-classic.ts';
import { documentsIn } from '../servers/read-openapi-index.ts';
import { openServers } from './open-cluster.ts';
import { aggregatedFiles, recordedFileName } from './recorded-documents.ts';
import type { ReadingOptions } from './run-sync-options.ts';

interface RecordClusterOptions {
  readonly servers: readonly { readonly id: string; readonly documents: ServerDocuments }[];
  /** Created if needed; must be empty. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

export interface RecordResult {
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
 *
 * @example
 * ```ts
 * const { issues } = await recordCluster({
 *   servers: [{ id: 'a', documents }],
 *   folder: join(folder, 'recording'),
 *   signal,
 * });
 * console.log(issues); // []
 * ```
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
 *
 * @example
 * ```ts
 * const { files } = await runRecording(
 *   { servers: [apiServer], certificateAuthorities, clientCertificate },
 *   join(folder, 'recording'),
 *   signal,
 * );
 * console.log(files > 0); // true
 * ```
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

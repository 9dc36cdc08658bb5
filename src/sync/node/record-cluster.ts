import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAPIGroupList, parseAPIVersions } from '../../discovery/forms/parse-classic.ts';
import { parseOpenApiV3Index } from '../../discovery/openapi-v3/parse-openapi-v3.ts';
import { createLimiter } from '../../runtime/limiter.ts';
import { isDns1123Subdomain } from '../../snapshot/addresses/names.ts';
import { apiServicesOf, apiServicesPath } from '../cluster/api-services.ts';
import { readClusterObjects } from '../cluster/cluster-objects.ts';
import { type NamedService, serviceEndpointsPath, servicePath } from '../cluster/service-address.ts';
import { getJsonIfServed } from '../documents/json-document.ts';
import { listObjects, listObjectsIfServed } from '../documents/list-objects.ts';
import type { ServerDocument, ServerDocuments } from '../documents/server-documents.ts';
import { sharedGroupVersions } from '../servers/exclude-group-versions.ts';
import { ownDocuments } from '../servers/read-openapi-index.ts';
import { aggregatedFiles, recordedFileName } from './recorded-documents.ts';
import { type SharedList, sharedLists } from './shared-lists.ts';

export interface RecordClusterOptions {
  readonly servers: readonly { readonly id: string; readonly documents: ServerDocuments }[];
  /** Made if needed; must be empty. */
  readonly folder: string;
  readonly signal: AbortSignal;
}

export interface RecordResult {
  /** What could not be recorded, and why. Without any, the folder holds everything. */
  readonly faults: readonly string[];
  /** Files written. */
  readonly files: number;
}

/** Documents read at once from one server. */
const concurrentDocuments = 8;

/** The form that holds nothing but the server's own, on every version that has it (aggregated/wrapper.go). */
const aggregatedAccept = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

/**
 * Saves what the sync job reads, in the form of test/fixtures/README.md: for `--from`, for bug reports. Nothing
 * but discovery, versions and the objects that routing goes by is asked for; no answer of these holds a secret.
 *
 * @throws {TypeError} when the folder is not empty, or a server's ID cannot be the name of a folder; nothing has been
 *   written then
 *
 * @example
 * ```ts
 * const { faults } = await recordCluster({
 *   servers: [{ id: 'a', documents }],
 *   folder: join(folder, 'recording'),
 *   signal,
 * });
 * console.log(faults); // []
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
  const faults: string[] = [];
  let files = 0;
  const write = async (file: string, text: string) => {
    // 0600, as for snapshots: addresses and versions of a control plane are nobody else's business.
    await writeFile(join(folder, file), text, { flag: 'wx', mode: 0o600 });
    files++;
  };
  const shared = sharedBy(servers, signal);
  await Promise.all([
    recordLists(servers, signal, write, faults),
    ...servers.map(async ({ id, documents }) => {
      await mkdir(join(folder, id), { mode: 0o700 });
      const writeOwn: Write = (file, text) => write(join(id, file), text);
      await recordServer(id, documents, shared, signal, writeOwn, faults);
    }),
  ]);
  return { faults, files };
}

/** Group versions of custom resources and extension API servers; `undefined` when that cannot be read. */
async function sharedBy(
  servers: RecordClusterOptions['servers'],
  signal: AbortSignal,
): Promise<ReadonlySet<string> | undefined> {
  const read = await readClusterObjects(
    servers.map(({ documents }) => documents),
    signal,
  );
  const { apiServices, customResourceGroups } = read;
  if (apiServices === undefined || customResourceGroups === undefined) return undefined;
  return sharedGroupVersions(apiServices, customResourceGroups);
}

type Write = (file: string, text: string) => Promise<void>;

/** With what the sync job finds extension API servers by: the Services that APIServices name, and their endpoints. */
async function recordLists(
  servers: RecordClusterOptions['servers'],
  signal: AbortSignal,
  write: Write,
  faults: string[],
): Promise<void> {
  const named = await namedServices(servers, signal);
  await Promise.all([
    ...sharedLists.map((list) => {
      const more = list.file === 'endpointslices.json' ? named.map(serviceEndpointsPath) : [];
      return recordList(list, more, servers, signal, write, faults);
    }),
    recordServices(named, servers, signal, write, faults),
  ]);
}

/** None where APIServices cannot be listed: that is a fault of their own list. */
async function namedServices(
  servers: RecordClusterOptions['servers'],
  signal: AbortSignal,
): Promise<readonly NamedService[]> {
  const list = (documents: ServerDocuments) => listObjects(documents, apiServicesPath, signal);
  const apiServices = apiServicesOf((await firstAnswer(servers, list)).answer ?? [], () => {});
  const services = apiServices.flatMap(({ service }) => service ?? []);
  return [...new Map(services.map((service) => [servicePath(service), service])).values()];
}

async function recordServices(
  named: readonly NamedService[],
  servers: RecordClusterOptions['servers'],
  signal: AbortSignal,
  write: Write,
  faults: string[],
): Promise<void> {
  const items: unknown[] = [];
  for (const path of named.map(servicePath)) {
    const read = (documents: ServerDocuments) => getJsonIfServed(documents, path, 'application/json', signal);
    const { answer, fault } = await firstAnswer(servers, read);
    if (answer !== undefined) items.push(answer);
    if (fault !== undefined) faults.push(`services.json: ${fault}`);
  }
  const list = { kind: 'ServiceList', apiVersion: 'v1', metadata: {}, items };
  await write('services.json', `${JSON.stringify(list, null, 2)}\n`);
}

/** Of the first server that gives one. */
async function firstAnswer<Answer>(
  servers: RecordClusterOptions['servers'],
  ask: (documents: ServerDocuments) => Promise<Answer>,
): Promise<{ readonly answer?: Answer; readonly fault?: string }> {
  let fault = 'there is no server';
  for (const { documents } of servers) {
    try {
      return { answer: await ask(documents) };
    } catch (error) {
      fault = messageOf(error);
    }
  }
  return { fault };
}

/** From the first server that gives the whole list: they all share it. One that no server has is no fault. */
async function recordList(
  { paths, file, kind, apiVersion }: SharedList,
  morePaths: readonly string[],
  servers: RecordClusterOptions['servers'],
  signal: AbortSignal,
  write: Write,
  faults: string[],
): Promise<void> {
  let fault: string | undefined;
  for (const { documents } of servers) {
    try {
      const lists = await Promise.all(paths.map((path) => listObjectsIfServed(documents, path, signal)));
      if (lists.includes(undefined)) continue;
      const more = await Promise.all(
        morePaths.map((path) =>
          listObjects(documents, path, signal).catch((error: unknown) => {
            faults.push(`${file}: ${messageOf(error)}`);
            return [];
          }),
        ),
      );
      const items = [...lists.flatMap((list) => list?.items ?? []), ...more.flat()];
      await write(file, `${JSON.stringify({ kind, apiVersion, metadata: {}, items }, null, 2)}\n`);
      return;
    } catch (error) {
      fault = messageOf(error);
    }
  }
  if (fault !== undefined) faults.push(`${file}: ${fault}`);
}

async function recordServer(
  id: string,
  documents: ServerDocuments,
  shared: Promise<ReadonlySet<string> | undefined>,
  signal: AbortSignal,
  write: Write,
  faults: string[],
): Promise<void> {
  const get = (path: string, accept = 'application/json') => documents.get(path, accept, signal);
  const attempt = async (what: string, record: () => Promise<void>) => {
    try {
      await record();
    } catch (error) {
      faults.push(`${id}/${what}: ${messageOf(error)}`);
    }
  };
  const whole = async (path: string) => {
    const document = await get(path);
    if (document.status !== 200) throw new Error(`${path} was answered with ${document.status}`);
    await write(recordedFileName(withoutQuery(path)), document.body);
    return document;
  };
  const codes: string[] = [];
  const limit = createLimiter(concurrentDocuments);
  await Promise.all([
    attempt('version.json', async () => void (await whole('/version'))),
    attempt('openapi_v3.json', async () => {
      const index = parseOpenApiV3Index(JSON.parse((await whole('/openapi/v3')).body));
      // Of those that the sync job compares; what others describe is their users' business.
      const excluded = await shared;
      if (excluded === undefined) return;
      await Promise.all(
        ownDocuments(index, excluded).map((url) => {
          const file = recordedFileName(withoutQuery(url));
          return limit(() => attempt(file, async () => void (await whole(url))));
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
      const [api, apis] = await Promise.all([whole('/api'), whole('/apis')]);
      await Promise.all(
        groupVersionPaths(api, apis).map((path) =>
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
  await write(
    'status.txt',
    codes
      .sort()
      .map((line) => `${line}\n`)
      .join(''),
  );
}

function groupVersionPaths(api: ServerDocument, apis: ServerDocument): string[] {
  const { versions } = parseAPIVersions(JSON.parse(api.body));
  const { groups } = parseAPIGroupList(JSON.parse(apis.body));
  return [
    ...versions.map((version) => `/api/${version}`),
    ...groups.flatMap(({ name, versions }) => versions.map(({ version }) => `/apis/${name}/${version}`)),
  ];
}

function withoutQuery(url: string): string {
  return url.split('?', 1)[0] ?? '';
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAPIGroupList, parseAPIVersions } from '../../discovery/parse-classic.ts';
import { isDns1123Subdomain } from '../../snapshot/names.ts';
import type { ServerDocument, ServerDocuments } from '../document-reader.ts';
import { createLimiter } from '../limiter.ts';
import { listObjectsIfServed } from '../list-objects.ts';
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
  await Promise.all([
    ...sharedLists.map((list) => recordList(list, servers, signal, write, faults)),
    ...servers.map(async ({ id, documents }) => {
      await mkdir(join(folder, id), { mode: 0o700 });
      const writeOwn: Write = (file, text) => write(join(id, file), text);
      await recordServer(id, documents, signal, writeOwn, faults);
    }),
  ]);
  return { faults, files };
}

type Write = (file: string, text: string) => Promise<void>;

/** From the first server that gives the whole list: they all share it. One that no server has is no fault. */
async function recordList(
  { paths, file, kind, apiVersion }: SharedList,
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
      const items = lists.flatMap((list) => list?.items ?? []);
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
    await write(recordedFileName(path), document.body);
    return document;
  };
  const codes: string[] = [];
  await Promise.all([
    attempt('version.json', async () => void (await whole('/version'))),
    attempt('openapi_v3.json', async () => void (await whole('/openapi/v3'))),
    ...Object.entries(aggregatedFiles).map(([path, name]) =>
      attempt(`${name}.json`, async () => {
        const { status, contentType, body } = await get(path, aggregatedAccept);
        await write(`${name}.json`, body);
        await write(`${name}.ct`, `${status} ${contentType.replaceAll(' ', '')}\n`);
      }),
    ),
    attempt('apis.json', async () => {
      const [api, apis] = await Promise.all([whole('/api'), whole('/apis')]);
      const limit = createLimiter(concurrentDocuments);
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

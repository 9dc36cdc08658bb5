import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { apiServicesPath } from '../cluster/api-services.ts';
import { customResourceDefinitionsPath } from '../cluster/custom-resource-groups.ts';
import {
  ReadError,
  type ServerDocument,
  type ServerDocuments,
  withoutQuery,
} from '../documents/server-documents.ts';

/** For recordings without this file: they are older, of clusters without custom resources. */
const noCustomResourceDefinitions = '{"kind":"CustomResourceDefinitionList","metadata":{},"items":[]}';

/** Path of an aggregated document to the name of its files, without `.json` and `.ct`. */
export const aggregatedFiles: Readonly<Record<string, string>> = {
  '/api': 'aggregated_api',
  '/apis': 'aggregated_apis',
};

/**
 * The recorded documents of one server, from a cluster's folder with one folder per server (test/fixtures/README.md). A
 * missing file is a document that could not be read. A document that the server does not have has 404 in `status.txt`.
 *
 * @param clusterFolder holds `apiservices.json` and, where recorded, `customresourcedefinitions.json`
 * @param server name of the server's folder
 *
 * @example
 * ```ts
 * const documents = recordedDocuments('test/fixtures/kubernetes-1.25-1.26', 'b');
 * console.log((await documents.get('/version', 'application/json')).status); // 200
 * ```
 */
export function recordedDocuments(clusterFolder: string, server: string): ServerDocuments {
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
export function recordedFileName(path: string): string {
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

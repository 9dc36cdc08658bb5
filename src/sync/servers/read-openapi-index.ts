import { groupVersionString } from '../../apimachinery/group-version.ts';
import { parseOpenApiV3Index } from '../../discovery/openapi-v3/parse-openapi-v3.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { getJsonIfServed } from '../documents/json-document.ts';
import { ReadError, type ServerDocuments } from '../documents/server-documents.ts';
import type { OpenApiReading } from './server-reading.ts';

/** Seen from 1.25 to 1.33: the index is JSON, and its type is left to Go's guess at the content. */
const indexTypes = ['application/json', 'text/plain'];

/** A path of the index whose document is that of a group version. */
const groupVersionPath = /^(?:api|apis\/([^/]+))\/([^/]+)$/;

/**
 * The URLs of the documents of those group versions that are the servers' own.
 * @param paths path to `serverRelativeURL`, as the index has them
 * @param shared group versions that no server counts as its own (`sharedGroupVersions`)
 */
export function ownDocuments(
  paths: Readonly<Record<string, string>>,
  shared: ReadonlySet<string>,
): readonly string[] {
  return Object.entries(paths).flatMap(([path, url]) => {
    const [, group = '', version] = groupVersionPath.exec(path) ?? [];
    return version === undefined || shared.has(groupVersionString(group, version)) ? [] : [url];
  });
}

/** Reads a server's OpenAPI v3 index. It decides nothing about routing, so a failure is none of the server's. */
export async function readOpenApiIndex(
  documents: ServerDocuments,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Promise<OpenApiReading> {
  const tooSlow = () => new ReadError('Unreachable', `no answer within ${timeoutMilliseconds} ms`);
  try {
    return await withDeadline(timeoutMilliseconds, signal, tooSlow, async (deadline) => {
      const value = await getJsonIfServed(documents, '/openapi/v3', 'application/json', deadline, indexTypes);
      return value === undefined
        ? { kind: 'not-served' }
        : { kind: 'read', paths: parseOpenApiV3Index(value) };
    });
  } catch (error) {
    return { kind: 'failed', reason: error instanceof Error ? error.message : String(error) };
  }
}

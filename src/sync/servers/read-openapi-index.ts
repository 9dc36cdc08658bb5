import { groupVersionString } from '../../apimachinery/group-version.ts';
import { parseDiscoveryPath } from '../../discovery/forms/discovery-path.ts';
import { parseOpenApiV3Index } from '../../discovery/own-documents.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { getJsonIfServed } from '../documents/json-document.ts';
import { type ServerDocuments, withReadTimeout } from '../documents/server-documents.ts';
import type { OpenApiReading } from './server-reading.ts';

/**
 * OpenAPI v3 is always JSON. The index (seen from 1.25 to 1.33) and the documents of servers before 1.31 have no declared
 * type, so Go detects one from the content.
 */
export const openApiTypes = ['application/json', 'text/plain'];

/**
 * The documents of group versions that an index names, by group version. Those of groups do not count.
 *
 * @param paths path to `serverRelativeURL`
 */
export function documentsIn(paths: Readonly<Record<string, string>> = {}): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(paths).flatMap(([path, url]) => {
      const named = parseDiscoveryPath(`/${path}`);
      return named?.kind === 'resources' ? [[groupVersionString(named.group, named.version), url]] : [];
    }),
  );
}

/** Reads a server's OpenAPI v3 index. Never rejects: the index does not decide where requests go. */
export async function readOpenApiIndex(
  documents: ServerDocuments,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Promise<OpenApiReading> {
  try {
    return await withReadTimeout(timeoutMilliseconds, signal, async (deadline) => {
      const value = await getJsonIfServed(documents, '/openapi/v3', deadline, openApiTypes);
      return value === undefined
        ? { kind: 'not-served' }
        : { kind: 'read', paths: parseOpenApiV3Index(value) };
    });
  } catch (error) {
    return { kind: 'failed', reason: errorMessage(error) };
  }
}

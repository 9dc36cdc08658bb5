import * as v from 'valibot';
import { servedSetFromDiscovery } from '../../discovery/forms/served-set-of.ts';
import { withDeadline } from '../../runtime/deadline.ts';
import { checkedDocument, getJsonIfServed } from '../documents/json-document.ts';
import { ReadError, type ServerDocuments } from '../documents/server-documents.ts';
import { readGroups } from './read-groups.ts';
import { readOpenApiIndex } from './read-openapi-index.ts';
import type { ServerReading } from './server-reading.ts';
import type { StorageVersionHashReader } from './storage-version-hashes.ts';

export interface ReadServerOptions {
  readonly signal?: AbortSignal;
  /** For the whole read. Default 15,000. */
  readonly timeoutMilliseconds?: number;
  /** Documents of classic discovery read at once. Default 8. */
  readonly concurrentDocuments?: number;
  /** Group versions (`batch/v1`) that the server had before; asked for even where classic discovery lacks them. */
  readonly knownGroupVersions?: readonly string[];
  /** Reads what versions the server stores at. Default: this is not read, and the set does not tell it. */
  readonly hashReader?: StorageVersionHashReader;
}

/**
 * Reads what one API server itself serves: discovery, version, OpenAPI v3 index. Never throws; a fault in
 * discovery makes the whole reading a failure, a fault in the others leaves them unknown.
 *
 * @example
 * ```ts
 * const reading = await readServer(recordedDocuments('test/fixtures/kubernetes-1.25-1.26', 'a'));
 * console.log(reading.ok && reading.version); // v1.25.0
 * ```
 */
export async function readServer(
  documents: ServerDocuments,
  {
    signal,
    timeoutMilliseconds = 15_000,
    concurrentDocuments = 8,
    knownGroupVersions = [],
    hashReader,
  }: ReadServerOptions = {},
): Promise<ServerReading> {
  const tooSlow = () => new ReadError('Unreachable', `no whole reading within ${timeoutMilliseconds} ms`);
  try {
    return await withDeadline(timeoutMilliseconds, signal, tooSlow, async (deadline) => {
      // Half the time, so that a hanging index costs nothing but itself.
      const index = readOpenApiIndex(documents, timeoutMilliseconds / 2, deadline);
      const [{ groups, resourceLists }, openApi, version] = await Promise.all([
        readGroups(documents, concurrentDocuments, { openApi: index, knownGroupVersions }, deadline),
        index,
        readVersion(documents, timeoutMilliseconds / 2, deadline),
      ]);
      const set = servedSetFromDiscovery(groups, groups);
      if (Object.keys(set.storageVersions).length === 0) {
        throw new ReadError('NothingServed', 'discovery is empty: the server is still starting');
      }
      const storageVersionHashes = await hashReader?.read({
        documents,
        groups,
        resourceLists,
        version,
        concurrentDocuments,
        signal: deadline,
      });
      const whole = storageVersionHashes === undefined ? set : { ...set, storageVersionHashes };
      return { ok: true, set: whole, openApi, version };
    });
  } catch (error) {
    // Documents that are not what was asked for are told by the discovery parsers, with errors of their own.
    const code = error instanceof ReadError ? error.code : 'InvalidDocument';
    return { ok: false, code, reason: error instanceof Error ? error.message : String(error) };
  }
}

/** k8s.io/apimachinery pkg/version/types.go. */
const versionInfo = v.object({ gitVersion: v.string() });

/** Decides only who leads the merged discovery: a server whose version cannot be read is read all the same. */
async function readVersion(
  documents: ServerDocuments,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Promise<string | undefined> {
  const tooSlow = () => new ReadError('Unreachable', 'the version came too late');
  try {
    return await withDeadline(timeoutMilliseconds, signal, tooSlow, async (deadline) => {
      const value = await getJsonIfServed(documents, '/version', 'application/json', deadline);
      return value === undefined ? undefined : checkedDocument(versionInfo, '/version', value).gitVersion;
    });
  } catch {
    return undefined;
  }
}

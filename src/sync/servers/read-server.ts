import * as v from 'valibot';
import { groupNameOf } from '../../apimachinery/group-version.ts';
import { parseAggregated, servedSetFromDiscovery } from '../../discovery/forms/aggregated.ts';
import { ownDiscoveryAccept } from '../../discovery/own-documents.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { shortText } from '../../snapshot/format/schema.ts';
import { checkedDocument, getJson, getJsonIfServed } from '../documents/json-document.ts';
import { ReadError, type ServerDocuments, withReadTimeout } from '../documents/server-documents.ts';
import { type ReadGroups, readClassic, type UnlistedSources } from './read-classic.ts';
import { readOpenApiIndex } from './read-openapi-index.ts';
import type { ServerReading } from './server-reading.ts';
import type { StorageVersionHashReader } from './storage-version-hashes.ts';

export interface ReadServerOptions {
  readonly signal?: AbortSignal;
  /** For all documents together. Default 15,000. */
  readonly timeoutMilliseconds?: number;
  /** Documents of classic discovery read at once. Default 8. */
  readonly concurrentDocuments?: number;
  /** Group versions (`batch/v1`) of the last reading; read even if classic discovery does not list them. */
  readonly knownGroupVersions?: readonly string[];
  /** Reads the versions that the server stores at. Default: the set does not have them. */
  readonly hashReader?: StorageVersionHashReader;
}

/**
 * Reads what one API server itself serves: discovery, version, OpenAPI v3 index. Never throws: after a
 * error in discovery the reading is a failure, after an error in the others they are unknown.
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
  try {
    return await withReadTimeout(timeoutMilliseconds, signal, async (deadline) => {
      // Half the time, so that a hanging index delays nothing else.
      const index = readOpenApiIndex(documents, timeoutMilliseconds / 2, deadline);
      const [{ groups, resourceLists }, openApi, reported] = await Promise.all([
        readGroups(documents, concurrentDocuments, { openApi: index, knownGroupVersions }, deadline),
        index,
        readVersion(documents, timeoutMilliseconds / 2, deadline),
      ]);
      const set = servedSetFromDiscovery(groups);
      if (Object.keys(set.storageVersions).length === 0) {
        throw new ReadError('NothingServed', 'discovery is empty: the server is still starting');
      }
      const storageVersionHashes = await hashReader?.read({
        documents,
        groups,
        resourceLists,
        version: reported.version,
        concurrentDocuments,
        signal: deadline,
      });
      const complete = storageVersionHashes === undefined ? set : { ...set, storageVersionHashes };
      return { ok: true, set: complete, openApi, ...reported };
    });
  } catch (error) {
    // The discovery parsers have an error class of their own, for documents of another form.
    const code = error instanceof ReadError ? error.code : 'InvalidDocument';
    return { ok: false, code, reason: errorMessage(error) };
  }
}

const aggregatedDocument = v.object({ kind: v.literal('APIGroupDiscoveryList') });

/**
 * Reads all groups that a server itself serves, in the best form that it has.
 *
 * @throws {ReadError | DiscoveryDocumentError} on any error
 */
async function readGroups(
  documents: ServerDocuments,
  concurrentDocuments: number,
  unlisted: UnlistedSources,
  signal: AbortSignal,
): Promise<ReadGroups> {
  const [api, apis] = await Promise.all([
    getJson(documents, '/api', signal, ownDiscoveryAccept),
    getJson(documents, '/apis', signal, ownDiscoveryAccept),
  ]);
  if (v.is(aggregatedDocument, api) && v.is(aggregatedDocument, apis)) {
    // A legacy group counts only where /api gives it, any other one only where /apis does.
    const legacy = parseAggregated(api).filter((group) => groupNameOf(group) === '');
    const others = parseAggregated(apis).filter((group) => groupNameOf(group) !== '');
    return { groups: [...legacy, ...others] };
  }
  return readClassic(documents, concurrentDocuments, unlisted, signal);
}

/** k8s.io/apimachinery pkg/version/types.go. */
const versionInfo = v.object({ gitVersion: v.string() });

interface ReportedVersion {
  readonly version: string | undefined;
  readonly versionIssue?: string;
}

/** Never rejects: a server whose version is not known can be routed to. */
async function readVersion(
  documents: ServerDocuments,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Promise<ReportedVersion> {
  try {
    return await withReadTimeout(timeoutMilliseconds, signal, async (deadline) => {
      const value = await getJsonIfServed(documents, '/version', deadline);
      return value === undefined ? { version: undefined } : versionOf(value);
    });
  } catch {
    return { version: undefined };
  }
}

function versionOf(document: unknown): ReportedVersion {
  const { gitVersion } = checkedDocument(versionInfo, '/version', document);
  const result = v.safeParse(shortText, gitVersion);
  if (result.success) return { version: gitVersion };
  return { version: undefined, versionIssue: `gitVersion of /version ${result.issues[0].message}` };
}

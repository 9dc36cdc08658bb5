import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import {
  groupsFromClassic,
  type ParsedAPIGroupList,
  type ParsedAPIResourceList,
  type ParsedAPIVersions,
  parseAPIGroupList,
  parseAPIResourceList,
  parseAPIVersions,
} from '../../discovery/forms/classic.ts';
import { createLimiter } from '../../runtime/time.ts';
import { readApiServices } from '../cluster/api-services.ts';
import { getJson, getJsonIfServed } from '../documents/json-document.ts';
import { ReadError, type ServerDocuments } from '../documents/server-documents.ts';
import { indexedGroupVersions, sharedGroupVersions, withGroupVersions } from './exclude-group-versions.ts';
import type { OpenApiReading } from './server-reading.ts';

/** Everything that a server itself serves. */
export interface ReadGroups {
  readonly groups: APIGroupDiscovery[];
  /** By group version: the classic documents, if they were read. */
  readonly resourceLists?: ReadonlyMap<string, ParsedAPIResourceList> | undefined;
}

/** What names group versions that a server may serve without listing them in `/apis`. */
export interface UnlistedSources {
  readonly openApi: Promise<OpenApiReading>;
  /** Those of the last reading. */
  readonly knownGroupVersions: readonly string[];
}

/**
 * Reads a server's classic discovery. `/apis` lists what any server of the cluster has, because APIServices are shared
 * through etcd. Only the document of each group version shows what this server has.
 *
 * `/apis` can also lack group versions that this server has. A newer server that starts removes the APIServices of group
 * versions that it does not serve itself (kube-aggregator's autoregister controller, seen with 1.33 beside 1.25). The
 * older server makes its own only at its start, and continues to serve them unlisted. So the group versions of the
 * server's OpenAPI v3 index are read too, and those of the last reading, in case the index cannot be read.
 *
 * @throws {ReadError | DiscoveryDocumentError} on any error. A listed group version with the server's own 404 is not
 *   served, which is no error; any other failure is one.
 */
export async function readClassic(
  documents: ServerDocuments,
  concurrentDocuments: number,
  unlisted: UnlistedSources,
  signal: AbortSignal,
): Promise<ReadGroups> {
  const [api, apis, openApi] = await Promise.all([
    getJson(documents, '/api', signal),
    getJson(documents, '/apis', signal),
    unlisted.openApi,
  ]);
  const apiVersions = parseAPIVersions(api);
  const apiGroupList = withGroupVersions(parseAPIGroupList(apis), [
    ...indexedGroupVersions(openApi),
    ...unlisted.knownGroupVersions,
  ]);

  const apiResourceLists = new Map<string, ParsedAPIResourceList>();
  const failures = new Map<string, unknown>();
  const limit = createLimiter(concurrentDocuments);
  await Promise.all(
    [...new Set(listedGroupVersions(apiVersions, apiGroupList))].map((groupVersion) =>
      limit(async () => {
        try {
          const list = await readResourceList(documents, groupVersion, signal);
          if (list !== undefined) apiResourceLists.set(groupVersion, list);
        } catch (error) {
          failures.set(groupVersion, error);
        }
      }),
    ),
  );
  await throwOwnFailure(documents, failures, signal);
  const unavailable = new Set(failures.keys());
  return {
    groups: groupsFromClassic({ apiVersions, apiGroupList, apiResourceLists, unavailable }),
    resourceLists: apiResourceLists,
  };
}

/** The group versions that classic discovery lists. */
export function listedGroupVersions(
  { versions }: ParsedAPIVersions,
  { groups }: ParsedAPIGroupList,
): readonly string[] {
  return [
    ...versions,
    ...groups.flatMap(({ name, versions }) => versions.map(({ version }) => `${name}/${version}`)),
  ];
}

/** The path of a group version's document. */
export function groupVersionPath(groupVersion: string): string {
  return `${groupVersion.includes('/') ? '/apis' : '/api'}/${groupVersion}`;
}

/** @returns `undefined` if the server does not serve the group version */
export async function readResourceList(
  documents: ServerDocuments,
  groupVersion: string,
  signal: AbortSignal,
): Promise<ParsedAPIResourceList | undefined> {
  const path = groupVersionPath(groupVersion);
  const value = await getJsonIfServed(documents, path, signal);
  if (value === undefined) return undefined;
  const list = parseAPIResourceList(value);
  if (list.groupVersion === groupVersion) return list;
  throw new ReadError('InvalidDocument', `${path} is the document of ${list.groupVersion}`);
}

/**
 * A broken extension API server makes its group version fail on every API server (503 from the aggregator). Any other
 * failure is the server's own.
 *
 * @throws the first failure that is not that of an extension API server
 */
async function throwOwnFailure(
  documents: ServerDocuments,
  failures: ReadonlyMap<string, unknown>,
  signal: AbortSignal,
): Promise<void> {
  if (failures.size === 0) return;
  const extensions = await extensionGroupVersions(documents, signal);
  for (const [groupVersion, error] of failures) {
    if (!extensions.has(groupVersion)) throw error;
  }
}

async function extensionGroupVersions(
  documents: ServerDocuments,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> {
  try {
    const services = await readApiServices(documents, signal);
    return sharedGroupVersions(services?.apiServices ?? [], []);
  } catch {
    return new Set();
  }
}

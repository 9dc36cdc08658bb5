import * as v from 'valibot';
import { groupNameOf } from '../../apimachinery/group-version.ts';
import { isSubresourceName } from '../../apimachinery/names.ts';
import { emulatedVersion } from '../../apimachinery/server-version.ts';
import { ownGroups, servedSetFromDiscovery } from '../../discovery/forms/aggregated.ts';
import { type Classic, groupsFromClassic, parseClassic } from '../../discovery/forms/classic.ts';
import { ownDiscoveryAccept, parseOpenApiV3Index } from '../../discovery/own-documents.ts';
import { errorMessage } from '../../runtime/errors.ts';
import { createLimiter, createTimeSlice, type TimeSlice } from '../../runtime/time.ts';
import { describeIssues } from '../../runtime/validation.ts';
import { snapshotLimits } from '../../snapshot/format/limits.ts';
import { checkServedSet } from '../../snapshot/format/parse-snapshot.ts';
import type { APIGroupDiscovery, APIResourceDiscovery } from '../../snapshot/format/schema.ts';
import {
  documentPathIssue,
  isPrototypeKey,
  resourceDiscovery,
  type ServedSet,
  serverRelativeURL,
  shortText,
} from '../../snapshot/format/schema.ts';
import type { FeatureGateReader } from './feature-gates.ts';
import {
  checkedDocument,
  getJson,
  isNotServed,
  jsonType,
  listObjects,
  parseJson,
  ReadError,
  type ServerDocument,
  type ServerDocuments,
  withReadTimeout,
} from './server-documents.ts';
import { apiServicesOf, apiServicesPath, parseApiService, sharedGroupVersions } from './shared-objects.ts';
import { readResourceList, type StorageVersionHashReader } from './storage-versions.ts';
import {
  acceptableNames,
  failedReading,
  type OpenApiReading,
  openApiTypes,
  type ServerReading,
  type SuccessfulReading,
} from './sync-server.ts';
import { defaultTiming, type SyncTiming } from './timing.ts';

interface ReadServerOptions {
  readonly signal?: AbortSignal;
  readonly timing?: Partial<Pick<SyncTiming, 'readTimeout' | 'concurrentDocuments'>>;
  /** Reads the versions that the server stores at. Default: the set does not have them. */
  readonly hashReader?: StorageVersionHashReader;
  /** Reads which feature gates are on. Default: they are not known. */
  readonly gateReader?: FeatureGateReader;
}

/**
 * Reads what one API server itself serves: discovery, version, OpenAPI v3 index. Never throws: after an error in discovery,
 * or if no snapshot can hold what it says, the reading is a failure; after an error in the others they are unknown.
 */
export async function readServer(
  documents: ServerDocuments,
  { signal, timing, hashReader, gateReader }: ReadServerOptions = {},
): Promise<ServerReading> {
  const { readTimeout, concurrentDocuments } = { ...defaultTiming, ...timing };
  try {
    return await withReadTimeout(readTimeout, signal, async (deadline) => {
      // Half the time, so that a hanging index delays nothing else.
      const index = readOpenApiIndex(documents, readTimeout / 2, deadline);
      const [{ set, resourceLists }, openApi, reported, featureGates] = await Promise.all([
        readSet({ documents, concurrentDocuments, signal: deadline }),
        index,
        readVersion(documents, readTimeout / 2, deadline),
        gateReader &&
          withReadTimeout(readTimeout / 2, deadline, (end) => gateReader.read(documents, end)).catch(
            () => undefined,
          ),
      ]);
      const { version } = reported;
      const complete = await hashReader?.read({ documents, set, resourceLists, version, signal: deadline });
      return { ok: true, set: complete ?? set, openApi, featureGates, ...reported };
    });
  } catch (error) {
    return failedReading(error);
  }
}

interface SetRequest {
  readonly documents: ServerDocuments;
  readonly concurrentDocuments: number;
  readonly signal: AbortSignal;
}

interface ReadSet {
  readonly set: ServedSet;
  readonly resourceLists?: ReadonlyMap<string, Classic<'APIResourceList'>>;
}

/** Sets read from documents, by `/api` and `/apis`: most never change, and servers of one version give the same. */
const readBefore = new WeakMap<ServerDocument, WeakMap<ServerDocument, Promise<ServedSet | undefined>>>();
const indexReadBefore = new WeakMap<ServerDocument, Promise<OpenApiReading>>();

const aggregatedDocument = v.object({ kind: v.literal('APIGroupDiscoveryList') });

async function readSet(request: SetRequest): Promise<ReadSet> {
  const { documents, signal } = request;
  const [api, apis] = await Promise.all([
    documents.get('/api', ownDiscoveryAccept, signal),
    documents.get('/apis', ownDiscoveryAccept, signal),
  ]);
  const readWith = readBefore.get(api) ?? new WeakMap<ServerDocument, Promise<ServedSet | undefined>>();
  readBefore.set(api, readWith);
  const reading = readWith.get(apis) ?? aggregatedSet(api, apis);
  readWith.set(apis, reading);
  const set = await reading;
  if (set !== undefined) return { set };
  const { groups, resourceLists } = await readClassic(request);
  return { set: await acceptableSet(groups, createTimeSlice()), resourceLists };
}

/** @returns `undefined` where a document is not in aggregated form @throws {ReadError | DiscoveryDocumentError} */
async function aggregatedSet(api: ServerDocument, apis: ServerDocument): Promise<ServedSet | undefined> {
  const slice = createTimeSlice();
  const legacy = await parseJson('/api', api);
  const others = await parseJson('/apis', apis);
  if (!v.is(aggregatedDocument, legacy) || !v.is(aggregatedDocument, others)) return undefined;
  const groups = [...(await ownGroups(legacy, true, slice)), ...(await ownGroups(others, false, slice))];
  return acceptableSet(groups, slice);
}

/**
 * The set of a server, without names that routers refuse. Extension API servers can list any name (external metrics
 * are called `queue_depth`), and a router refuses a snapshot with one invalid name. Requests for those resources still
 * work: they go by their APIService.
 *
 * @throws {ReadError} if it serves nothing yet, or more than a snapshot can hold
 */
async function acceptableSet(groups: readonly APIGroupDiscovery[], slice: TimeSlice): Promise<ServedSet> {
  const discovery: APIGroupDiscovery[] = [];
  const storageVersions: Record<string, readonly string[]> = {};
  const subresources: NonNullable<ServedSet['subresources']> = {};
  for (const alike of Map.groupBy(groups, groupNameOf).values()) {
    const named = alike.map((group) => withResources(group, withAcceptableSubresources));
    const served = servedSetFromDiscovery(named);
    Object.assign(storageVersions, acceptableNames(served.storageVersions));
    Object.assign(subresources, acceptableNames(served.subresources ?? {}));
    for (const group of named)
      discovery.push(withResources(group, (each) => (v.is(resourceDiscovery, each) ? each : [])));
    await slice.rest();
  }
  const set = { storageVersions, subresources, discovery };
  if (Object.keys(storageVersions).length === 0) {
    throw new ReadError('NothingServed', 'discovery is empty: the server is still starting');
  }
  const checked = await checkServedSet(set);
  if (checked.ok) return checked.set;
  const reason = `routers would refuse a snapshot with what it says: ${describeIssues(checked.issues)}`;
  throw new ReadError('InvalidDocument', reason);
}

/** Without versions that are named like a part of a prototype. */
function withResources(
  group: APIGroupDiscovery,
  map: (resource: APIResourceDiscovery) => APIResourceDiscovery | [],
): APIGroupDiscovery {
  const versions = group.versions
    ?.filter(({ version }) => !isPrototypeKey(version))
    .map(({ resources, ...version }) => ({
      ...version,
      ...(resources === undefined ? {} : { resources: resources.flatMap(map) }),
    }));
  return versions === undefined ? group : { ...group, versions };
}

function withAcceptableSubresources(resource: APIResourceDiscovery): APIResourceDiscovery {
  const subresources = resource.subresources?.filter(({ subresource }) => isSubresourceName(subresource));
  return subresources === undefined ? resource : { ...resource, subresources };
}

/** k8s.io/apimachinery pkg/version/types.go; what is emulated since 1.33. */
const versionInfo = v.object({
  gitVersion: v.string(),
  emulationMajor: v.optional(v.string()),
  emulationMinor: v.optional(v.string()),
});

type ReportedVersion = Pick<SuccessfulReading, 'version' | 'emulates' | 'versionIssue'>;

/** Never rejects: a server whose version is not known can be routed to. */
async function readVersion(
  documents: ServerDocuments,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Promise<ReportedVersion> {
  try {
    return await withReadTimeout(timeoutMilliseconds, signal, async (deadline) => {
      const document = await getJson(documents, '/version', deadline);
      if (document === undefined) return { version: undefined };
      const info = checkedDocument(versionInfo, '/version', document);
      const { gitVersion } = info;
      const result = v.safeParse(shortText, gitVersion);
      if (result.success) return { version: gitVersion, emulates: emulatedVersion(info) };
      return { version: undefined, versionIssue: `gitVersion of /version ${result.issues[0].message}` };
    });
  } catch {
    return { version: undefined };
  }
}

/**
 * Reads a server's classic discovery. `/apis` lists what any server of the cluster has, because APIServices are shared
 * through etcd. Only the document of each group version shows what this server has.
 *
 * @throws {ReadError | DiscoveryDocumentError} on any error. A listed group version with the server's own 404 is not
 *   served, which is no error; any other failure is one.
 */
async function readClassic({ documents, concurrentDocuments, signal }: SetRequest): Promise<{
  readonly groups: APIGroupDiscovery[];
  readonly resourceLists: ReadonlyMap<string, Classic<'APIResourceList'>>;
}> {
  const [api, apis] = await Promise.all([
    getJson(documents, '/api', signal),
    getJson(documents, '/apis', signal),
  ]);
  const apiVersions = parseClassic('APIVersions', api);
  const apiGroupList = parseClassic('APIGroupList', apis);
  const listed = new Set([
    ...apiVersions.versions,
    ...apiGroupList.groups.flatMap(({ name, versions }) =>
      versions.map(({ version }) => `${name}/${version}`),
    ),
  ]);
  const apiResourceLists = new Map<string, Classic<'APIResourceList'>>();
  const failures = new Map<string, unknown>();
  const limit = createLimiter(concurrentDocuments);
  await Promise.all(
    [...listed].map((groupVersion) =>
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
  const services = await listObjects(documents, apiServicesPath, signal)
    .then((list) => apiServicesOf(list?.items.map(parseApiService) ?? []).apiServices)
    .catch(() => []);
  const extensions = sharedGroupVersions(services, []);
  for (const [groupVersion, error] of failures) {
    if (!extensions.has(groupVersion)) throw error;
  }
}

/** Reads a server's OpenAPI v3 index. Never rejects: the index does not decide where requests go. */
async function readOpenApiIndex(
  documents: ServerDocuments,
  timeoutMilliseconds: number,
  signal: AbortSignal,
): Promise<OpenApiReading> {
  try {
    return await withReadTimeout(timeoutMilliseconds, signal, async (deadline) => {
      const document = await documents.get('/openapi/v3', jsonType, deadline);
      const reading = indexReadBefore.get(document) ?? openApiReading(document);
      indexReadBefore.set(document, reading);
      return reading;
    });
  } catch (error) {
    return { kind: 'failed', reason: errorMessage(error) };
  }
}

async function openApiReading(document: ServerDocument): Promise<OpenApiReading> {
  if (isNotServed(document)) return { kind: 'not-served' };
  const index = parseOpenApiV3Index(await parseJson('/openapi/v3', document, openApiTypes));
  // Documents that a snapshot can hold.
  const kept = Object.entries(index).filter(
    ([path, url]) =>
      !isPrototypeKey(path) && documentPathIssue(path) === undefined && v.is(serverRelativeURL, url),
  );
  if (kept.length <= snapshotLimits.documents) return { kind: 'read', paths: Object.fromEntries(kept) };
  throw new ReadError('InvalidDocument', `it names more than ${snapshotLimits.documents} documents`);
}

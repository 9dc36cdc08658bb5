import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { storageVersionName } from '../../../src/apimachinery/group-version.ts';
import { parseAggregated, servedSetFromDiscovery } from '../../../src/discovery/forms/aggregated.ts';
import { type Classic, groupsFromClassic, parseClassic } from '../../../src/discovery/forms/classic.ts';
import { parseOpenApiV3Index } from '../../../src/discovery/own-documents.ts';
import type { APIGroupDiscovery, ServedSet, Snapshot } from '../../../src/snapshot/format/schema.ts';
import { type SnapshotOptions, servedSetKeyOf, snapshotOf } from '../snapshots/snapshot-builder.ts';

export type RecordedClusterName = 'kubernetes-1.25-1.26' | 'kubernetes-1.26-batch-disabled';

/** Answers of one kube-apiserver. */
export interface RecordedServer {
  readonly id: string;
  /** For example `v1.26.0`. */
  readonly version: string;
  /** Path (`/apis/batch/v1`) to the recorded list; those answered with 200 only, `/api/v1` among them. */
  readonly resourceLists: ReadonlyMap<string, unknown>;
  /** `/api` and `/apis` in classic form. */
  readonly classic: { readonly api: unknown; readonly apis: unknown };
  /** The same in aggregated form; `undefined` for a server that does not have it. */
  readonly aggregated: { readonly api: unknown; readonly apis: unknown } | undefined;
  /** The index `/openapi/v3`. */
  readonly openapiV3: unknown;
  /** From the classic documents, the legacy group first. */
  readonly groups: readonly APIGroupDiscovery[];
}

const fixtures = new URL('../../fixtures/', import.meta.url);

/** The two servers of a recorded cluster, see test/fixtures/README.md. */
export function recordedServers(cluster: RecordedClusterName): { a: RecordedServer; b: RecordedServer } {
  return { a: recordedServer(cluster, 'a'), b: recordedServer(cluster, 'b') };
}

/** The set of a recorded server: from its aggregated form where it has one, as the sync job prefers it. */
export function recordedServedSet(server: RecordedServer): ServedSet {
  const { aggregated, groups, openapiV3 } = server;
  const set = servedSetFromDiscovery(
    aggregated === undefined
      ? groups
      : [...parseAggregated(aggregated.api), ...parseAggregated(aggregated.apis)],
  );
  const index = parseOpenApiV3Index(openapiV3);
  return { ...set, openapiV3: index, storageVersionHashes: recordedHashes(server) };
}

function recordedHashes({ resourceLists }: RecordedServer): Record<string, string> {
  const hashes: Record<string, string> = {};
  for (const list of resourceLists.values()) {
    const { groupVersion, resources } = parseClassic('APIResourceList', list);
    const group = groupVersion.includes('/') ? (groupVersion.split('/')[0] ?? '') : '';
    for (const { name, storageVersionHash } of resources) {
      if (storageVersionHash !== undefined) hashes[storageVersionName(group, name)] = storageVersionHash;
    }
  }
  return hashes;
}

/** A snapshot of a recorded cluster, its servers at 10.0.0.1:6443 and 10.0.0.2:6443. */
export function recordedSnapshot(cluster: RecordedClusterName, options?: SnapshotOptions): Snapshot {
  const { a, b } = recordedServers(cluster);
  return snapshotOfSets(
    {
      a: { version: a.version, set: recordedServedSet(a) },
      b: { version: b.version, set: recordedServedSet(b) },
    },
    options,
  );
}

interface ServerOfSet {
  readonly set: ServedSet;
  readonly version?: string;
  readonly stale?: boolean;
  readonly withoutAddress?: boolean;
}

/** A valid snapshot of servers whose sets are given whole. Keys are API server IDs. */
export function snapshotOfSets(
  servers: Readonly<Record<string, ServerOfSet>>,
  options?: SnapshotOptions,
): Snapshot {
  const entries = Object.entries(servers);
  const snapshot = snapshotOf(
    Object.fromEntries(entries.map(([id, { set: _set, ...server }]) => [id, { serves: [], ...server }])),
    options,
  );
  return {
    ...snapshot,
    servers: snapshot.servers.map((server) => {
      const set = servers[server.id]?.set;
      return set === undefined ? server : { ...server, serves: servedSetKeyOf(set) };
    }),
    servedSets: Object.fromEntries(entries.map(([, { set }]) => [servedSetKeyOf(set), set])),
  };
}

function recordedServer(cluster: RecordedClusterName, id: 'a' | 'b'): RecordedServer {
  const folder = new URL(`${cluster}/${id}/`, fixtures);
  const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, folder), 'utf8'));
  const resourceLists = new Map<string, unknown>();
  for (const file of readdirSync(folder)) {
    // The body of a 404 was recorded too: its file has the status in its name.
    const [, name] = /^(api__v1|apis__[^_]+__v[^_.]+)\.json$/.exec(file) ?? [];
    if (name !== undefined) resourceLists.set(`/${name.replaceAll('__', '/')}`, read(file));
  }
  const api = read('api.json');
  const apis = read('apis.json');
  const hasAggregated = existsSync(new URL('aggregated_apis.json', folder));
  return {
    id,
    version: versionOf(read('version.json')),
    resourceLists,
    classic: { api, apis },
    aggregated: hasAggregated
      ? { api: read('aggregated_api.json'), apis: read('aggregated_apis.json') }
      : undefined,
    openapiV3: read('openapi__v3.json'),
    groups: groupsFromClassic({
      apiVersions: parseClassic('APIVersions', api),
      apiGroupList: parseClassic('APIGroupList', apis),
      apiResourceLists: parsedLists(resourceLists),
    }),
  };
}

function parsedLists(lists: ReadonlyMap<string, unknown>): Map<string, Classic<'APIResourceList'>> {
  return new Map(
    [...lists].map(([path, list]) => [path.replace(/^\/apis?\//, ''), parseClassic('APIResourceList', list)]),
  );
}

function versionOf(document: unknown): string {
  if (typeof document === 'object' && document !== null && 'gitVersion' in document) {
    return String(document.gitVersion);
  }
  throw new TypeError('version.json has no gitVersion.');
}

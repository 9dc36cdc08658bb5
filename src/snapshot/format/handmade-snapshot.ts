import { storageVersionName } from '../../apimachinery/group-version.ts';
import { describeIssues } from '../../runtime/validation.ts';
import { parseSnapshot } from './parse-snapshot.ts';
import {
  type ServedSet,
  type Snapshot,
  type SnapshotMetadata,
  type SnapshotServer,
  snapshotApiVersion,
  snapshotKind,
} from './schema.ts';
import { servedSetKey } from './served-set-key.ts';

/**
 * Resources that one server serves, each line as it stands in a URL: `v1/pods`, `v1/pods/log`, `batch/v1/jobs`,
 * `apps/v1/deployments/scale`. As soon as one line names a subresource, all that are not listed are lacking; else nothing is known
 * of subresources.
 */
export type ServedPaths = readonly string[];

export interface HandmadeServer extends Omit<SnapshotServer, 'id' | 'serves'> {
  readonly serves: ServedPaths;
  readonly schemas?: ServedSet['schemas'];
}

export interface HandmadeOptions extends Partial<SnapshotMetadata> {
  /** Default: none. */
  readonly apiServices?: Snapshot['apiServices'];
  /** Default: none. */
  readonly customResourceGroups?: Snapshot['customResourceGroups'];
}

/**
 * A snapshot by hand, for tests and for servers that no sync job reads: it can be sealed, and a table can be made of it.
 *
 * @param servers by the ID of the API server; each needs an `address` (`host:port`) or a `url` to be reached
 * @param options metadata beside the servers. Default: generation 1, made now
 * @throws {TypeError} with every issue and its path
 *
 * @example
 * ```ts
 * const snapshot = await snapshotOf({
 *   old: { address: '10.0.0.1:6443', serves: ['v1/pods'] },
 *   new: { address: '10.0.0.2:6443', serves: ['v1/pods', 'batch/v1/jobs'] },
 * });
 * const table = buildRoutingTable(snapshot);
 * const request = parseRequestInfo('GET', '/apis/batch/v1/jobs');
 * console.log(decide(request, table, { serverId: 'old', reroutedByVerifiedPeer: false }).decision); // peer
 * ```
 */
export async function snapshotOf(
  servers: Readonly<Record<string, HandmadeServer>>,
  { apiServices = [], customResourceGroups = [], ...metadata }: HandmadeOptions = {},
): Promise<Snapshot> {
  const servedSets: Record<string, ServedSet> = {};
  const listed: SnapshotServer[] = [];
  for (const [id, { serves, schemas, ...server }] of Object.entries(servers)) {
    const set = { ...servedSetOf(serves), ...(schemas === undefined ? {} : { schemas }) };
    const key = await servedSetKey(set);
    servedSets[key] = set;
    listed.push({ ...server, id, serves: key });
  }
  const result = await parseSnapshot({
    apiVersion: snapshotApiVersion,
    kind: snapshotKind,
    metadata: { generation: 1, createdAt: new Date().toISOString(), source: 'discovery', ...metadata },
    servers: listed,
    servedSets,
    apiServices,
    customResourceGroups,
  });
  if (!result.ok) throw new TypeError(`The snapshot has errors: ${describeIssues(result.issues)}`);
  return result.snapshot;
}

/** @param knowsSubresources forces the knowledge of subresources: `true` with none listed means that there are none */
export function servedSetOf(paths: ServedPaths, knowsSubresources?: boolean): ServedSet {
  const storageVersions: Record<string, string[]> = {};
  const subresources: Record<string, Record<string, string[]>> = {};
  for (const path of paths) {
    const { group, version, resource, subresource } = splitServedPath(path);
    const name = storageVersionName(group, resource);
    storageVersions[name] ??= [];
    const versions = storageVersions[name];
    if (!versions.includes(version)) versions.push(version);
    if (subresource === '') continue;
    subresources[name] ??= {};
    const byVersion = subresources[name];
    byVersion[version] ??= [];
    byVersion[version].push(subresource);
  }
  const known = knowsSubresources ?? Object.keys(subresources).length > 0;
  return known ? { storageVersions, subresources } : { storageVersions };
}

function splitServedPath(path: string): {
  group: string;
  version: string;
  resource: string;
  subresource: string;
} {
  const parts = path.split('/');
  // The legacy group has no name: its paths begin with the version.
  const [group, version, resource, ...rest] = /^v\d/.test(path) ? ['', ...parts] : parts;
  if (group === undefined || version === undefined || resource === undefined) {
    throw new TypeError(`${path}: write v1/pods, batch/v1/jobs or apps/v1/deployments/scale.`);
  }
  return { group, version, resource, subresource: rest.join('/') };
}

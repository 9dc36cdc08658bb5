import { createHash } from 'node:crypto';
import { storageVersionName } from '../../src/apimachinery/group-version.ts';
import { canonicalJson } from '../../src/runtime/canonical-json.ts';
import {
  type ServedSet,
  type Snapshot,
  type SnapshotApiService,
  type SnapshotMetadata,
  type SnapshotServer,
  snapshotApiVersion,
  snapshotKind,
} from '../../src/snapshot/format/schema.ts';

/**
 * What one server serves, each line as it stands in a URL: `v1/pods`, `v1/pods/log`, `batch/v1/jobs`,
 * `apps/v1/deployments/scale`. As soon as one line of a server names a subresource, its set knows
 * subresources and lacks all that are not listed; else it knows nothing of them.
 */
type ServedPaths = readonly string[];

export interface ServerOptions extends Partial<Omit<SnapshotServer, 'id' | 'serves'>> {
  readonly serves: ServedPaths;
  /** Forces the knowledge of subresources: `true` with none listed means that there are none. */
  readonly knowsSubresources?: boolean;
  readonly discovery?: ServedSet['discovery'];
  readonly openapiV3?: ServedSet['openapiV3'];
  readonly storageVersionHashes?: ServedSet['storageVersionHashes'];
  readonly schemas?: ServedSet['schemas'];
  readonly undecodableVersions?: ServedSet['undecodableVersions'];
  /** Neither address nor url: known, but not to be reached. */
  readonly withoutAddress?: boolean;
}

export interface SnapshotOptions extends Partial<SnapshotMetadata> {
  readonly apiServices?: readonly SnapshotApiService[];
  readonly customResourceGroups?: Snapshot['customResourceGroups'];
}

/**
 * A valid snapshot in one line: `snapshotOf({ a: ['v1/pods'], b: ['v1/pods', 'batch/v1/jobs'] })`.
 *
 * Keys are API server IDs. Servers get the addresses 10.0.0.1:6443, 10.0.0.2:6443, … in the order in which
 * they are listed. Generation 1, made now, valid for an hour, unless `options` say otherwise.
 */
export function snapshotOf(
  servers: Readonly<Record<string, ServedPaths | ServerOptions>>,
  options: SnapshotOptions = {},
): Snapshot {
  const { apiServices = [], customResourceGroups = [], ...metadata } = options;
  const servedSets = new Map<string, ServedSet>();
  const listed = Object.entries(servers).map(([id, given], index): SnapshotServer => {
    const { serves, knowsSubresources, withoutAddress, ...others } = serverOptions(given);
    const { discovery, openapiV3, storageVersionHashes, schemas, undecodableVersions, ...rest } = others;
    const described = optional({ discovery, openapiV3, storageVersionHashes, schemas, undecodableVersions });
    const set = { ...servedSetOf(serves, knowsSubresources), ...described };
    const key = servedSetKeyOf(set);
    servedSets.set(key, set);
    const address =
      withoutAddress === true || rest.url !== undefined ? {} : { address: `10.0.0.${index + 1}:6443` };
    return { id, ...address, ...rest, serves: key };
  });
  return {
    apiVersion: snapshotApiVersion,
    kind: snapshotKind,
    metadata: {
      generation: 1,
      createdAt: new Date().toISOString(),
      source: 'discovery',
      ...metadata,
    },
    servers: listed,
    servedSets: Object.fromEntries(servedSets),
    apiServices,
    customResourceGroups,
  };
}

/** The set of a server that serves `paths` (see `ServedPaths`). */
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

/** What `servedSetKey` gives, without waiting. */
export function servedSetKeyOf(set: ServedSet): string {
  return `sha256:${createHash('sha256').update(canonicalJson(set)).digest('hex')}`;
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

function serverOptions(given: ServedPaths | ServerOptions): ServerOptions {
  return 'serves' in given ? given : { serves: given };
}

function optional<Fields extends object>(fields: Fields): Partial<Fields> {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as Partial<Fields>;
}

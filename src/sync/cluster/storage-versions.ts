import * as v from 'valibot';
import { parseStorageVersionName, storageVersionName } from '../../apimachinery/group-version.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import { checkedDocument } from '../documents/json-document.ts';

export const storageVersionsPath = '/apis/internal.apiserver.k8s.io/v1alpha1/storageversions';

/** The group versions in one StorageVersion, by server ID, as upstream writes them. */
export interface StorageVersionEntry {
  /** `<group>.<resource>`. */
  readonly name: string;
  readonly servedVersions: Readonly<Record<string, readonly string[]>>;
  /** Group versions that servers can decode, whether they serve them or not. */
  readonly decodableVersions: Readonly<Record<string, readonly string[]>>;
}

const storageVersion = v.object({
  metadata: v.object({ name: v.string() }),
  status: v.nullish(
    v.object({
      storageVersions: v.nullish(
        v.array(
          v.object({
            apiServerID: v.string(),
            decodableVersions: v.nullish(v.array(v.string()), []),
            servedVersions: v.nullish(v.array(v.string()), []),
          }),
        ),
        [],
      ),
    }),
    {},
  ),
});

/**
 * Reads one StorageVersion. Servers before 1.28 write no `servedVersions`; `decodableVersions` do not replace them,
 * because servers decode more than they serve.
 *
 * @throws {ReadError} `InvalidDocument` for any other object
 */
export function parseStorageVersion(object: unknown): StorageVersionEntry {
  const { metadata, status } = checkedDocument(storageVersion, storageVersionsPath, object);
  const byServer = (field: 'servedVersions' | 'decodableVersions') =>
    Object.fromEntries(
      status.storageVersions.flatMap(({ apiServerID, [field]: versions }) =>
        versions.length === 0 ? [] : [[apiServerID, versions]],
      ),
    );
  return {
    name: metadata.name,
    servedVersions: byServer('servedVersions'),
    decodableVersions: byServer('decodableVersions'),
  };
}

/** Server ID to `<group>.<resource>` (the group that it is stored under) to the group versions that the server decodes. */
export type DecodableVersions = ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;

export function decodableByStorageVersions(entries: Iterable<StorageVersionEntry>): DecodableVersions {
  const decodable = new Map<string, Map<string, readonly string[]>>();
  for (const { name, decodableVersions } of entries) {
    for (const [id, versions] of Object.entries(decodableVersions)) {
      const ofServer = decodable.get(id) ?? new Map<string, readonly string[]>();
      decodable.set(id, ofServer.set(name, versions));
    }
  }
  return decodable;
}

/**
 * What each server serves by its StorageVersions, in the snapshot's form. An object names the group that a resource is
 * stored under. Its group versions can also belong to other groups that serve the resource, and are listed under those.
 */
export function servedByStorageVersions(
  entries: Iterable<StorageVersionEntry>,
): ReadonlyMap<string, ServedSet['storageVersions']> {
  const served = new Map<string, Map<string, Set<string>>>();
  for (const { name, servedVersions } of entries) {
    const resource = parseStorageVersionName(name)?.resource;
    if (resource === undefined) continue;
    for (const [id, groupVersions] of Object.entries(servedVersions)) {
      const ofServer = served.get(id) ?? new Map<string, Set<string>>();
      served.set(id, ofServer);
      for (const groupVersion of groupVersions) {
        const slash = groupVersion.indexOf('/');
        const served = storageVersionName(groupVersion.slice(0, Math.max(slash, 0)), resource);
        ofServer.set(served, (ofServer.get(served) ?? new Set()).add(groupVersion.slice(slash + 1)));
      }
    }
  }
  return new Map([...served].map(([id, byName]) => [id, plain(byName)]));
}

function plain(byName: ReadonlyMap<string, ReadonlySet<string>>): Record<string, readonly string[]> {
  const names = [...byName.keys()].sort();
  return Object.fromEntries(names.map((name) => [name, [...(byName.get(name) ?? [])].sort()]));
}

/** How many differences the warning names. */
const namedDifferences = 5;

/**
 * A warning about contradictions between a server's StorageVersions and its discovery; `undefined` without any.
 * Discovery counts: StorageVersions are written at the start and every ten minutes, possibly by an earlier process with
 * the same ID. A resource that only discovery lists is no contradiction: not everything that is served is stored.
 */
export function contradiction(
  storageVersions: ServedSet['storageVersions'],
  discovered: ServedSet['storageVersions'],
): string | undefined {
  const differences: string[] = [];
  for (const [name, versions] of Object.entries(storageVersions)) {
    const own = discovered[name] ?? [];
    for (const version of versions)
      if (!own.includes(version)) differences.push(`${name} ${version} (not in discovery)`);
    for (const version of own) {
      if (!versions.includes(version)) differences.push(`${name} ${version} (only in discovery)`);
    }
  }
  if (differences.length === 0) return undefined;
  const more = differences.length - namedDifferences;
  const named = differences.slice(0, namedDifferences).join(', ');
  return more > 0 ? `${named} and ${more} more` : named;
}

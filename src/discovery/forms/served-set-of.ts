import type { APIGroupDiscovery, APIResourceDiscovery } from '../../apimachinery/discovery-types.ts';
import { storageVersionName } from '../../apimachinery/group-version.ts';
import { compareVersionPriority } from '../../apimachinery/version-priority.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';

/**
 * What a server serves, worked out from its own discovery.
 *
 * A resource whose name holds a dot (metrics adapters list such) has no name in the language of
 * StorageVersions, which is cut at the last dot: it is in `discovery` only, and its requests go by their
 * APIService.
 *
 * @param legacyGroups what `/api` says: groups other than the legacy one do not count
 * @param groups what `/apis` says: a legacy group does not count
 * @param openapiV3 path to `serverRelativeURL`, where the index is known
 * @returns a set whose `subresources` are complete
 */
export function servedSetFromDiscovery(
  legacyGroups: readonly APIGroupDiscovery[],
  groups: readonly APIGroupDiscovery[],
  openapiV3?: ServedSet['openapiV3'],
): ServedSet {
  const discovery = [
    ...legacyGroups.filter((group) => nameOf(group) === ''),
    ...groups.filter((group) => nameOf(group) !== ''),
  ];
  const versions = new Map<string, Set<string>>();
  const subresources = new Map<string, Map<string, Set<string>>>();
  for (const { group, version, resource } of resourcesOf(discovery)) {
    if (resource.resource.includes('.')) continue;
    const name = storageVersionName(group, resource.resource);
    versions.set(name, (versions.get(name) ?? new Set()).add(version));
    for (const { subresource } of resource.subresources ?? []) {
      const byVersion = subresources.get(name) ?? new Map<string, Set<string>>();
      byVersion.set(version, (byVersion.get(version) ?? new Set()).add(subresource));
      subresources.set(name, byVersion);
    }
  }
  return {
    storageVersions: toRecord(versions, (set) => [...set].sort(compareVersionPriority)),
    subresources: toRecord(subresources, (byVersion) => toRecord(byVersion, (set) => [...set])),
    discovery,
    ...(openapiV3 === undefined ? {} : { openapiV3 }),
  };
}

function* resourcesOf(
  groups: readonly APIGroupDiscovery[],
): Generator<{ group: string; version: string; resource: APIResourceDiscovery }> {
  for (const group of groups) {
    for (const { version, resources = [] } of group.versions ?? []) {
      for (const resource of resources) yield { group: nameOf(group), version, resource };
    }
  }
}

function nameOf({ metadata }: APIGroupDiscovery): string {
  return metadata.name ?? '';
}

function toRecord<From, To>(
  map: ReadonlyMap<string, From>,
  convert: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries([...map].map(([name, value]) => [name, convert(value)]));
}

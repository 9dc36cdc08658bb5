import type { APIGroupDiscovery, APIResourceDiscovery } from '../../apimachinery/discovery-types.ts';
import { groupNameOf, storageVersionName } from '../../apimachinery/group-version.ts';
import { compareVersionPriority } from '../../apimachinery/version-priority.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';

/**
 * What a server serves, worked out from its own discovery.
 *
 * A resource whose name holds a dot (metrics adapters list such) has no name in the language of
 * StorageVersions, which is cut at the last dot: it is in `discovery` only, and its requests go by their
 * APIService.
 *
 * @returns a set whose `subresources` are complete
 */
export function servedSetFromDiscovery(discovery: readonly APIGroupDiscovery[]): ServedSet {
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
  };
}

function* resourcesOf(
  groups: readonly APIGroupDiscovery[],
): Generator<{ group: string; version: string; resource: APIResourceDiscovery }> {
  for (const group of groups) {
    for (const { version, resources = [] } of group.versions ?? []) {
      for (const resource of resources) yield { group: groupNameOf(group), version, resource };
    }
  }
}

function toRecord<From, To>(
  map: ReadonlyMap<string, From>,
  convert: (value: From) => To,
): Record<string, To> {
  return Object.fromEntries([...map].map(([name, value]) => [name, convert(value)]));
}

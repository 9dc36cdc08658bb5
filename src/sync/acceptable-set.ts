import * as v from 'valibot';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APIVersionDiscovery,
} from '../apimachinery/discovery-types.ts';
import { isDns1035Label, isSubresourceName } from '../apimachinery/names.ts';
import { storageVersionHashPattern } from '../apimachinery/storage-version-hash.ts';
import {
  documentPathIssue,
  isPrototypeKey,
  storageVersionNameIssue,
} from '../snapshot/format/parse-snapshot.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import { resourceDiscovery, serverRelativeURL } from '../snapshot/format/schema.ts';

/**
 * The set without names that routers refuse. Extension API servers can list any name (external metrics are called
 * `queue_depth`), and a router refuses a snapshot with one invalid name. Requests for those resources still work: they
 * go by their APIService.
 */
export function acceptableSet(set: ServedSet): ServedSet {
  const { subresources, storageVersionHashes, schemas, undecodableVersions, discovery, openapiV3 } = set;
  return {
    storageVersions: mapped(withAcceptableNames(set.storageVersions), (versions) =>
      versions.filter(isDns1035Label),
    ),
    ...(subresources && {
      subresources: mapped(withAcceptableNames(subresources), (versions) =>
        mapped(filtered(versions, isDns1035Label), (names) => names.filter(isSubresourceName)),
      ),
    }),
    ...(storageVersionHashes && {
      storageVersionHashes: filtered(withAcceptableNames(storageVersionHashes), (_, hash) =>
        storageVersionHashPattern.test(hash),
      ),
    }),
    ...(schemas && {
      schemas: mapped(withAcceptableNames(schemas), (digests) => filtered(digests, isDns1035Label)),
    }),
    ...(undecodableVersions && { undecodableVersions: withAcceptableNames(undecodableVersions) }),
    ...(discovery && { discovery: acceptableDiscovery(discovery) }),
    ...(openapiV3 && {
      openapiV3: filtered(
        openapiV3,
        (path, url) => documentPathIssue(path) === undefined && v.is(serverRelativeURL, url),
      ),
    }),
  };
}

function withAcceptableNames<Value>(byName: Readonly<Record<string, Value>>): Record<string, Value> {
  return filtered(byName, (name) => storageVersionNameIssue(name) === undefined);
}

function filtered<Value>(
  record: Readonly<Record<string, Value>>,
  isKept: (key: string, value: Value) => boolean,
): Record<string, Value> {
  const kept = Object.entries(record).filter(([key, value]) => !isPrototypeKey(key) && isKept(key, value));
  return Object.fromEntries(kept);
}

function mapped<Value, Result>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value) => Result,
): Record<string, Result> {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value)]));
}

function acceptableDiscovery(groups: readonly APIGroupDiscovery[]): APIGroupDiscovery[] {
  return groups.map((group) =>
    group.versions === undefined ? group : { ...group, versions: group.versions.map(acceptableVersion) },
  );
}

function acceptableVersion(version: APIVersionDiscovery): APIVersionDiscovery {
  if (version.resources === undefined) return version;
  const resources = version.resources.map(withAcceptableSubresources);
  return { ...version, resources: resources.filter((resource) => v.is(resourceDiscovery, resource)) };
}

function withAcceptableSubresources(resource: APIResourceDiscovery): APIResourceDiscovery {
  if (resource.subresources === undefined) return resource;
  const subresources = resource.subresources.filter(({ subresource }) => isSubresourceName(subresource));
  return { ...resource, subresources };
}

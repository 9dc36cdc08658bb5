import * as v from 'valibot';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APIVersionDiscovery,
} from '../../apimachinery/discovery-types.ts';
import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import { storageVersionHashPattern } from '../../apimachinery/storage-version-hash.ts';
import { isDns1035Label, isSubresourceName, isVisibleAscii } from '../../snapshot/addresses/names.ts';
import { resourceDiscovery, serverRelativeURL } from '../../snapshot/format/schema.ts';
import type { ServedSet } from '../../snapshot/format/types.ts';

/**
 * The set without names that routers refuse. Extension API servers can list any name (external metrics are called
 * `queue_depth`), and a router refuses a snapshot with one invalid name. Requests for those resources still work: they
 * go by their APIService.
 */
export function acceptableSet(set: ServedSet): ServedSet {
  return {
    storageVersions: withAcceptableNames(set.storageVersions),
    ...(set.subresources === undefined
      ? {}
      : { subresources: acceptableSubresources(withAcceptableNames(set.subresources)) }),
    ...(set.storageVersionHashes === undefined
      ? {}
      : { storageVersionHashes: acceptableHashes(withAcceptableNames(set.storageVersionHashes)) }),
    ...(set.schemas === undefined ? {} : { schemas: acceptableSchemas(withAcceptableNames(set.schemas)) }),
    ...(set.undecodableVersions === undefined
      ? {}
      : { undecodableVersions: withAcceptableNames(set.undecodableVersions) }),
    ...(set.discovery === undefined ? {} : { discovery: acceptableDiscovery(set.discovery) }),
    ...(set.openapiV3 === undefined ? {} : { openapiV3: acceptableOpenApiPaths(set.openapiV3) }),
  };
}

/** Upstream's rule for resources in names of StorageVersions (pkg/apis/apiserverinternal/validation). */
function withAcceptableNames<Value>(byName: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(byName).filter(([name]) => isDns1035Label(parseStorageVersionName(name)?.resource ?? '')),
  );
}

function acceptableHashes(hashes: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(hashes).filter(([, hash]) => storageVersionHashPattern.test(hash)),
  );
}

function acceptableSchemas(schemas: NonNullable<ServedSet['schemas']>): NonNullable<ServedSet['schemas']> {
  return Object.fromEntries(
    Object.entries(schemas).map(([name, digests]) => [
      name,
      Object.fromEntries(Object.entries(digests).filter(([version]) => isDns1035Label(version))),
    ]),
  );
}

function acceptableSubresources(
  subresources: NonNullable<ServedSet['subresources']>,
): NonNullable<ServedSet['subresources']> {
  return Object.fromEntries(
    Object.entries(subresources).map(([name, versions]) => [
      name,
      Object.fromEntries(
        Object.entries(versions).map(([version, names]) => [version, names.filter(isSubresourceName)]),
      ),
    ]),
  );
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

function acceptableOpenApiPaths(paths: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(paths).filter(
      ([path, url]) =>
        path !== '' && !path.startsWith('/') && isVisibleAscii(path) && v.is(serverRelativeURL, url),
    ),
  );
}

import * as v from 'valibot';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APIVersionDiscovery,
} from '../apimachinery/discovery-types.ts';
import { isSubresourceName } from '../apimachinery/names.ts';
import { servedSetFromDiscovery } from '../discovery/forms/aggregated.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import {
  documentPathIssue,
  isPrototypeKey,
  resourceDiscovery,
  serverRelativeURL,
  storageVersionNameIssue,
} from '../snapshot/format/schema.ts';

/**
 * What a server serves, without names that routers refuse. Extension API servers can list any name (external metrics are
 * called `queue_depth`), and a router refuses a snapshot with one invalid name. Requests for those resources still work:
 * they go by their APIService.
 */
export function acceptableSet(groups: readonly APIGroupDiscovery[]): ServedSet {
  const named = withVersions(groups, (version) =>
    isPrototypeKey(version.version) ? [] : withResources(version, withAcceptableSubresources),
  );
  const { storageVersions, subresources = {} } = servedSetFromDiscovery(named);
  return {
    storageVersions: acceptableNames(storageVersions),
    subresources: acceptableNames(subresources),
    discovery: withVersions(named, (version) =>
      withResources(version, (resource) => (v.is(resourceDiscovery, resource) ? resource : [])),
    ),
  };
}

function withVersions(
  groups: readonly APIGroupDiscovery[],
  map: (version: APIVersionDiscovery) => APIVersionDiscovery | [],
): APIGroupDiscovery[] {
  return groups.map((group) =>
    group.versions === undefined ? group : { ...group, versions: group.versions.flatMap(map) },
  );
}

function withResources(
  version: APIVersionDiscovery,
  map: (resource: APIResourceDiscovery) => APIResourceDiscovery | [],
): APIVersionDiscovery {
  return version.resources === undefined
    ? version
    : { ...version, resources: version.resources.flatMap(map) };
}

function withAcceptableSubresources(resource: APIResourceDiscovery): APIResourceDiscovery {
  if (resource.subresources === undefined) return resource;
  const subresources = resource.subresources.filter(({ subresource }) => isSubresourceName(subresource));
  return { ...resource, subresources };
}

/** Those of a record by `<group>.<resource>` that a snapshot can hold. */
export function acceptableNames<Value>(byName: Readonly<Record<string, Value>>): Record<string, Value> {
  return Object.fromEntries(
    Object.entries(byName).filter(([name]) => storageVersionNameIssue(name) === undefined),
  );
}

/** Of the documents of an OpenAPI v3 index those that a snapshot can hold. */
export function acceptablePaths(paths: Readonly<Record<string, string>>): Record<string, string> {
  const kept = Object.entries(paths).filter(
    ([path, url]) =>
      !isPrototypeKey(path) && documentPathIssue(path) === undefined && v.is(serverRelativeURL, url),
  );
  return Object.fromEntries(kept);
}

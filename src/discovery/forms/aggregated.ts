import * as v from 'valibot';
import { groupNameOf, storageVersionName } from '../../apimachinery/group-version.ts';
import { compareVersionPriority } from '../../apimachinery/version-priority.ts';
import type { TimeSlice } from '../../runtime/time.ts';
import { jsonObject } from '../../runtime/validation.ts';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APISubresourceDiscovery,
  APIVersionDiscovery,
  GroupVersionKind,
  ServedSet,
} from '../../snapshot/format/schema.ts';
import { groupName, versionName } from '../../snapshot/format/schema.ts';
import { listField, nonEmptyString, optionalField, parseDocument, parseWith } from './parse-document.ts';

/** The versions of apidiscovery.k8s.io. v2 came with Kubernetes 1.30; kubectl 1.26 to 1.29 knows only v2beta1. */
export type AggregatedVersion = 'v2' | 'v2beta1';

/**
 * `APIGroupDiscoveryList`, the response to `/apis` and `/api` in aggregated form, fields in the order in which
 * API servers write them. An item is made when it is written.
 *
 * @param groups what to list: for `/api` the legacy group, for `/apis` the others
 */
export function aggregatedDocument(version: AggregatedVersion, groups: readonly APIGroupDiscovery[]): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => ({ toJSON: () => groupItem(version, group) })),
  };
}

function groupItem(version: AggregatedVersion, { metadata, versions = [] }: APIGroupDiscovery): object {
  return {
    metadata: {
      ...(metadata.name === undefined || metadata.name === '' ? {} : { name: metadata.name }),
      // Every server that prefers v2beta1 prints it; from 1.34 on it is gone.
      ...(version === 'v2beta1' ? { creationTimestamp: null } : {}),
    },
    ...(versions.length === 0 ? {} : { versions: versions.map(versionItem) }),
  };
}

function versionItem({ version, resources = [], freshness }: APIVersionDiscovery): object {
  return {
    version,
    ...(resources.length === 0 ? {} : { resources: resources.map(resourceItem) }),
    ...(freshness === undefined ? {} : { freshness }),
  };
}

function resourceItem(resource: APIResourceDiscovery): object {
  const { responseKind, shortNames = [], categories = [], subresources = [] } = resource;
  return {
    resource: resource.resource,
    ...(responseKind === undefined ? {} : { responseKind: kindItem(responseKind) }),
    scope: resource.scope ?? '',
    singularResource: resource.singularResource ?? '',
    verbs: resource.verbs ?? [],
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
    ...(subresources.length === 0 ? {} : { subresources: subresources.map(subresourceItem) }),
  };
}

function subresourceItem(subresource: APISubresourceDiscovery): object {
  const { responseKind, acceptedTypes = [], verbs = [] } = subresource;
  return {
    subresource: subresource.subresource,
    ...(responseKind === undefined ? {} : { responseKind: kindItem(responseKind) }),
    ...(acceptedTypes.length === 0 ? {} : { acceptedTypes: acceptedTypes.map(kindItem) }),
    verbs,
  };
}

/** All three are always written: an empty group or version means that of the list. */
function kindItem({ group = '', version = '', kind = '' }: GroupVersionKind): object {
  return { group, version, kind };
}

const strings = optionalField(v.array(v.string()));

const groupVersionKind = v.object({
  group: optionalField(v.string()),
  version: optionalField(v.string()),
  kind: optionalField(v.string()),
});

// Resources come from extension API servers as they please. A name or a scope of an odd form in one of them
// must not cost the document of all the others, so only what a merge stands on is required.
const subresource = v.object({
  subresource: nonEmptyString,
  responseKind: optionalField(groupVersionKind),
  acceptedTypes: optionalField(v.array(groupVersionKind)),
  verbs: strings,
});

const resource = v.object({
  resource: nonEmptyString,
  responseKind: optionalField(groupVersionKind),
  scope: v.fallback(optionalField(v.picklist(['Cluster', 'Namespaced'])), undefined),
  singularResource: optionalField(v.string()),
  verbs: strings,
  shortNames: strings,
  categories: strings,
  subresources: optionalField(v.array(subresource)),
});

const version = v.object({
  version: versionName,
  resources: optionalField(v.array(resource)),
  // Known values only; a new one is a new kind of "current" to a reader that does not know it.
  freshness: v.fallback(optionalField(v.picklist(['Current', 'Stale'])), undefined),
});

const group = v.object({
  metadata: v.object({ name: optionalField(groupName) }),
  versions: optionalField(v.array(version)),
});

const apiGroupDiscoveryList = v.object({
  apiVersion: v.picklist(['apidiscovery.k8s.io/v2', 'apidiscovery.k8s.io/v2beta1']),
  items: listField(jsonObject),
});

/**
 * Reads `APIGroupDiscoveryList`, v2 or v2beta1, a group at a time, so that others can run in between. Fields it does not
 * know are dropped; group versions marked Stale stay marked.
 *
 * @param document parsed JSON of unknown origin
 * @throws {DiscoveryDocumentError} for anything else
 */
export function* parseAggregated(document: unknown): Generator<APIGroupDiscovery> {
  const { items } = parseDocument('APIGroupDiscoveryList', apiGroupDiscoveryList, document);
  for (const item of items) {
    yield parseWith(group, item, 'This APIGroupDiscoveryList is broken in an item at');
  }
}

/** The same, in slices. Of `/api` (`isLegacy`) only the legacy group counts, of `/apis` only the others. */
export async function ownGroups(
  document: unknown,
  isLegacy: boolean,
  slice: TimeSlice,
): Promise<APIGroupDiscovery[]> {
  const groups: APIGroupDiscovery[] = [];
  for (const each of parseAggregated(document)) {
    if ((groupNameOf(each) === '') === isLegacy) groups.push(each);
    await slice.rest();
  }
  return groups;
}

/**
 * The set that a server serves, worked out from the server's own discovery.
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

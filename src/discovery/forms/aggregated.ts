import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APISubresourceDiscovery,
  APIVersionDiscovery,
  GroupVersionKind,
} from '../../apimachinery/discovery-types.ts';

/** The versions of apidiscovery.k8s.io. v2 came with Kubernetes 1.30; kubectl 1.26 to 1.29 knows only v2beta1. */
export type AggregatedVersion = 'v2' | 'v2beta1';

/**
 * `APIGroupDiscoveryList`, the response to `/apis` and `/api` in aggregated form, fields in the order in which
 * API servers write them.
 *
 * @param groups what to list: for `/api` the legacy group, for `/apis` the others
 */
export function aggregatedDocument(version: AggregatedVersion, groups: readonly APIGroupDiscovery[]): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: groups.map((group) => groupItem(version, group)),
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

/** Wire types of apidiscovery.k8s.io (v2 and v2beta1 are the same shape), k8s.io/api apidiscovery/v2/types.go. */

export interface GroupVersionKind {
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly kind?: string | undefined;
}

export interface APISubresourceDiscovery {
  readonly subresource: string;
  readonly responseKind?: GroupVersionKind | undefined;
  readonly acceptedTypes?: readonly GroupVersionKind[] | undefined;
  readonly verbs?: readonly string[] | undefined;
}

export interface APIResourceDiscovery {
  readonly resource: string;
  readonly responseKind?: GroupVersionKind | undefined;
  readonly scope?: 'Cluster' | 'Namespaced' | undefined;
  readonly singularResource?: string | undefined;
  readonly verbs?: readonly string[] | undefined;
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  readonly subresources?: readonly APISubresourceDiscovery[] | undefined;
}

export interface APIVersionDiscovery {
  readonly version: string;
  readonly resources?: readonly APIResourceDiscovery[] | undefined;
  readonly freshness?: 'Current' | 'Stale' | undefined;
}

/** One group; the legacy group has the empty name. */
export interface APIGroupDiscovery {
  readonly metadata: { readonly name?: string | undefined };
  readonly versions?: readonly APIVersionDiscovery[] | undefined;
}

/** Wire types of classic discovery (k8s.io/apimachinery meta/v1/types.go), as far as they are read or written. */

/** `/api`. */
export interface APIVersions {
  readonly kind: 'APIVersions';
  readonly versions: readonly string[];
  readonly serverAddressByClientCIDRs: readonly {
    readonly clientCIDR: string;
    readonly serverAddress: string;
  }[];
}

export interface GroupVersionForDiscovery {
  /** `batch/v1`. */
  readonly groupVersion: string;
  /** `v1`. */
  readonly version: string;
}

/** A group in `/apis`. */
export interface APIGroup {
  readonly name: string;
  readonly versions: readonly GroupVersionForDiscovery[];
  readonly preferredVersion: GroupVersionForDiscovery;
}

/** `/apis`. */
export interface APIGroupList {
  readonly kind: 'APIGroupList';
  readonly apiVersion: 'v1';
  readonly groups: readonly APIGroup[];
}

/** A resource, or under `<resource>/<subresource>` a subresource. */
export interface APIResource {
  readonly name: string;
  readonly singularName: string;
  readonly namespaced: boolean;
  /** Left out where it is the group of the list; likewise `version`. */
  readonly group?: string | undefined;
  readonly version?: string | undefined;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[] | undefined;
  readonly categories?: readonly string[] | undefined;
  /** See `storageVersionHash`; left out for subresources and resources that are not stored. */
  readonly storageVersionHash?: string | undefined;
}

/** `/api/<version>` and `/apis/<group>/<version>`. */
export interface APIResourceList {
  readonly kind: 'APIResourceList';
  /** Missing under `/api`, where real servers do not write it either. */
  readonly apiVersion?: 'v1' | undefined;
  readonly groupVersion: string;
  readonly resources: readonly APIResource[];
}

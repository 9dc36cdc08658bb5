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

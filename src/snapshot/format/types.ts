import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import type { AdvertisedAddress } from '../addresses/advertised-address.ts';

export const snapshotApiVersion = 'mixed-version-proxy/v1alpha1';
export const snapshotKind = 'StorageVersionSnapshot';

/** What the cluster serves, at one moment. Made by the sync job, taken whole or not at all by a router. */
export interface Snapshot {
  readonly apiVersion: typeof snapshotApiVersion;
  readonly kind: typeof snapshotKind;
  readonly metadata: SnapshotMetadata;
  readonly servers: readonly SnapshotServer[];
  /** Key: `sha256:<hex>` of the set's canonical JSON. Servers that serve the same share one set. */
  readonly servedSets: Readonly<Record<string, ServedSet>>;
  readonly apiServices: readonly SnapshotApiService[];
  readonly customResourceGroups: readonly { readonly group: string; readonly version: string }[];
}

export interface SnapshotMetadata {
  /** Only ever rising. A positive safe integer. */
  readonly generation: number;
  /** RFC 3339. */
  readonly createdAt: string;
  /** From `createdAt` on; past it the snapshot is expired. */
  readonly lifetimeSeconds: number;
  readonly cluster?: string | undefined;
  readonly source: 'storageversions' | 'discovery' | 'both';
}

/**
 * Where the sync job has a server's address from: the annotation on its identity Lease, the EndpointSlice of the Service
 * `kubernetes`, or an operator who listed the server by hand.
 */
export const addressSources = ['lease', 'endpointslice', 'listed'] as const;
export type AddressSource = (typeof addressSources)[number];

export interface SnapshotServer {
  readonly id: string;
  /** `host:port`; an IPv6 host in brackets. Neither `address` nor `url`: known, but not to be reached. */
  readonly address?: string | undefined;
  /** `https://host:port`, where a scheme is wanted. At most one of `address` and `url`. */
  readonly url?: string | undefined;
  /** Source of `address` or `url`. Left out when unknown. */
  readonly addressSource?: AddressSource | undefined;
  /** What the router in front of the server advertises; where there is one, peers call this address. */
  readonly advertised?: AdvertisedAddress | undefined;
  /** TLS name of the server; default `kubernetes.default.svc`. */
  readonly serverName?: string | undefined;
  /** As `/version` says, for example `v1.26.15`. */
  readonly version?: string | undefined;
  readonly hostname?: string | undefined;
  /** Key into `servedSets`. */
  readonly serves: string;
  /** True when `serves` is the last known set of a server that could not be read this time. */
  readonly stale?: boolean | undefined;
  /**
   * RFC 3339: when the sync job found that the server had left in order. What it served stays known, but no request
   * goes to its address until it is back.
   */
  readonly departedAt?: string | undefined;
}

export interface ServedSet {
  /** `<group>.<resource>` (core: `core.<resource>`) to served versions, for example `["v1", "v1beta1"]`. */
  readonly storageVersions: Readonly<Record<string, readonly string[]>>;
  /**
   * `<group>.<resource>` to version to subresources. Where the whole map is absent, nothing is known of
   * subresources and the server is taken to serve those of every resource it serves. Where it is present it
   * is complete: a resource or version missing in it has none.
   */
  readonly subresources?: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> | undefined;
  /**
   * `<group>.<resource>` to the `storageVersionHash` of its classic discovery (`storageVersionHash` makes it): which
   * version the server stores it at, among all that it serves. Missing for what is not stored. Custom resources and
   * those of extension API servers are in it, as they are in `discovery`.
   */
  readonly storageVersionHashes?: Readonly<Record<string, string>> | undefined;
  /**
   * `<group>.<resource>` to version to a digest of the schema that the server has for it: equal digests, equal fields,
   * types, defaults and rules (`schemaDigests` makes them). Absent: this server was not compared with others. Present, a
   * resource or version missing in it could not be read: it counts as another one than that of other minor versions.
   */
  readonly schemas?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /**
   * `<group>.<resource>` to the group versions (`batch/v1`, of the legacy group `v1`) that another server stores it at and
   * this one cannot decode: it responds with 500 for such an object. Left out where there are none, or none were compared.
   */
  readonly undecodableVersions?: Readonly<Record<string, readonly string[]>> | undefined;
  /** The server's own groups in aggregated form (`apidiscovery.k8s.io/v2`), the legacy group under the empty name. */
  readonly discovery?: readonly APIGroupDiscovery[] | undefined;
  /** Path (as in the `/openapi/v3` index, for example `apis/batch/v1`) to the server's own `serverRelativeURL`. */
  readonly openapiV3?: Readonly<Record<string, string>> | undefined;
}

/** An APIService (apiregistration.k8s.io/v1). Without `service` it is served by the API servers themselves. */
export interface SnapshotApiService {
  readonly group: string;
  readonly version: string;
  readonly service?:
    | {
        readonly namespace: string;
        readonly name: string;
        readonly port: number;
        /** `host:port` to reach it at, where a router is to go straight to it. */
        readonly address?: string | undefined;
      }
    | undefined;
  /** PEM. */
  readonly caBundle?: string | undefined;
  readonly insecureSkipTLSVerify?: boolean | undefined;
  readonly available: boolean;
}

import type * as v from 'valibot';
import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import type {
  addressSources,
  apiService,
  apiVersion,
  customResourceGroup,
  kind,
  metadata,
  server,
} from './schema.ts';

export type Immutable<Value> = Value extends object
  ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
  : Value;

/** What the cluster serves, at one moment. Made by the sync job, taken whole or not at all by a router. */
export interface Snapshot {
  readonly apiVersion: v.InferOutput<typeof apiVersion>;
  readonly kind: v.InferOutput<typeof kind>;
  readonly metadata: SnapshotMetadata;
  readonly servers: readonly SnapshotServer[];
  /** Key: `sha256:<hex>` of the set's canonical JSON. Servers that serve the same share one set. */
  readonly servedSets: Readonly<Record<string, ServedSet>>;
  readonly apiServices: readonly SnapshotApiService[];
  readonly customResourceGroups: readonly Immutable<v.InferOutput<typeof customResourceGroup>>[];
}

export type SnapshotMetadata = Immutable<v.InferOutput<typeof metadata>>;
export type VersionChange = NonNullable<SnapshotMetadata['versionChanges']>[number];
export type SnapshotServer = Immutable<v.InferOutput<typeof server>>;
/** An APIService (apiregistration.k8s.io/v1). Without `service` it is served by the API servers themselves. */
export type SnapshotApiService = Immutable<v.InferOutput<typeof apiService>>;
export type AddressSource = (typeof addressSources)[number];

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

import * as v from 'valibot';
import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import {
  isDns1035Label,
  isDns1123Label,
  isDns1123Subdomain,
  isSubresourceName,
  isVisibleAscii,
} from '../../apimachinery/names.ts';
import { countedVersionPattern } from '../../apimachinery/server-version.ts';
import { sha256DigestPattern } from '../../runtime/bytes.ts';
import { parseRfc3339 } from '../../runtime/time.ts';
import {
  boolean,
  expected,
  jsonObject,
  listOf,
  strict,
  textThat,
  wholeNumber,
} from '../../runtime/validation.ts';
import {
  advertisedBy,
  type HostPortResult,
  parseHostPort,
  parseHttpsOrigin,
  parseIpAddress,
} from '../addresses/addresses.ts';
import { snapshotLimits } from './limits.ts';

/** Text that is safe in a log line or a header. */
export const shortText = textThat(
  (value) => value.length > 0 && value.length <= snapshotLimits.text && isVisibleAscii(value),
  `1 to ${snapshotLimits.text} printable ASCII characters without spaces`,
);

/** As `shortText`, or empty: in discovery many fields are given and empty. */
const shortTextOrEmpty = textThat(
  (value) => value.length <= snapshotLimits.text && isVisibleAscii(value),
  `at most ${snapshotLimits.text} printable ASCII characters without spaces`,
);

const dns1123Label = textThat(isDns1123Label, 'a DNS label (RFC 1123)');
export const dns1123Subdomain = textThat(isDns1123Subdomain, 'a DNS subdomain (RFC 1123), in lower case');

/** The empty name is the legacy group, core. */
export const groupName = textThat(
  (value) => value === '' || isDns1123Subdomain(value),
  'an API group: a DNS subdomain in lower case, or empty for the legacy group',
);

/** Usually `v1` or `v2beta1`, but upstream takes any RFC 1035 label. */
export const versionName = textThat(
  isDns1035Label,
  'an API version such as v1 or v2beta1 (an RFC 1035 label)',
);

export const hostPort = addressThat(parseHostPort, 'host:port');
export const httpsOrigin = addressThat(parseHttpsOrigin, 'an https origin');

function addressThat(parse: (text: string) => HostPortResult, what: string) {
  const issueOf = (text: string): string => {
    const parsed = parse(text);
    return parsed.ok ? '' : parsed.message;
  };
  return v.pipe(
    v.string(expected(what)),
    v.check(
      (text) => issueOf(text) === '',
      ({ input }) => issueOf(input),
    ),
  );
}

// The snapshot's schema, one piece for each thing that `parseSnapshot` reads on its own. The pieces are
// small so that a snapshot of a million errors is refused in bounded memory.

export const snapshotApiVersion = 'mixed-version-proxy/v1alpha1';
export const snapshotKind = 'StorageVersionSnapshot';

/** RFC 3339, as Kubernetes writes times. */
export const timestamp = textThat(
  (value) => parseRfc3339(value) !== undefined,
  'an RFC 3339 time such as 2026-01-31T12:00:00Z',
);
export const generation = wholeNumber(1, Number.MAX_SAFE_INTEGER);

const minorVersionText = textThat(
  (value) => /^(?:0|[1-9]\d{0,3})\.(?:0|[1-9]\d{0,3})$/.test(value),
  'a minor version such as 1.36',
);

const countedVersion = textThat(
  (value) => countedVersionPattern.test(value),
  'a version such as 1.36 or 1.36 emulating 1.35',
);

/** Short digest of what a server was started with. */
const shortDigest = textThat((value) => /^[0-9a-f]{8}$/.test(value), 'eight hexadecimal digits');

/** A server that has come, left, or changed its version, and from when on that counts for which version is preferred. */
const versionChange = strict({
  server: dns1123Subdomain,
  /** Left out: it was not there, or of no known version. */
  from: v.optional(countedVersion),
  /** Left out: it is no longer there, or of no known version. */
  to: v.optional(countedVersion),
  at: timestamp,
  /** From then on another router may have changed already: what depends on the version waits. Left out: two seconds before `at`. */
  waitFrom: v.optional(timestamp),
});

const metadata = strict({
  generation,
  createdAt: timestamp,
  cluster: v.optional(shortText),
  /** Changes of the last minute. Every router changes the preferred version at the instant that is written here. */
  versionChanges: v.optional(listOf(versionChange, snapshotLimits.servers)),
  source: v.picklist(
    ['storageversions', 'discovery', 'both'],
    expected('"storageversions", "discovery" or "both"'),
  ),
});

/** A snapshot without its lists. */
export const snapshotHead = strict({
  apiVersion: v.picklist([snapshotApiVersion], expected(`"${snapshotApiVersion}"`)),
  kind: v.picklist([snapshotKind], expected(`"${snapshotKind}"`)),
  metadata,
});

const tlsName = textThat(
  (value) => isDns1123Subdomain(value) || parseIpAddress(value) !== undefined,
  'a DNS name in lower case, or an IP address',
);

/**
 * Where the sync job has a server's address from: the annotation on its identity Lease, the EndpointSlice of the Service
 * `kubernetes`, or an operator who listed the server by hand.
 */
const addressSources = ['lease', 'endpointslice', 'listed'] as const;

export const server = v.pipe(
  strict({
    /** The name of its identity Lease (KEP-1965), which is a DNS subdomain. */
    id: dns1123Subdomain,
    /** An IPv6 host in brackets. Neither `address` nor `url`: known, but not to be reached. */
    address: v.optional(hostPort),
    /** `https://host:port`, where a scheme is wanted. At most one of `address` and `url`. */
    url: v.optional(httpsOrigin),
    /** Source of `address` or `url`. Left out when unknown. */
    addressSource: v.optional(v.picklist(addressSources, expected('"lease", "endpointslice" or "listed"'))),
    /** Address that the router in front of the server advertises; where there is one, peers call this address. */
    advertised: v.optional(
      strict({ address: hostPort, by: v.picklist(advertisedBy, expected('the setting of a router')) }),
    ),
    /** TLS name of the server; default `kubernetes.default.svc`. */
    serverName: v.optional(tlsName),
    /** As `/version` says, for example `v1.26.15`. */
    version: v.optional(shortText),
    /** The minor version that it behaves like, where that is another one than its own (`--emulated-version`, KEP-4330). */
    emulates: v.optional(minorVersionText),
    /** Digest of its feature gates and whether they are on. Left out where they are not known. */
    featureGates: v.optional(shortDigest),
    /**
     * Digest of the resources of Kubernetes' own groups that it serves, and of their documents' hashes in its OpenAPI
     * v3 index. Left out where these are not known.
     */
    apis: v.optional(shortDigest),
    hostname: v.optional(shortText),
    /** Key into `servedSets`. */
    serves: shortText,
    /** True when `serves` is the last known set of a server that could not be read this time. */
    stale: v.optional(boolean),
    /** True when another process runs the server than the one that `serves` was read of: what it serves is not known. */
    unread: v.optional(boolean),
    /**
     * When the sync job found that the server had left in order. What it served stays known, but no request goes to its
     * address until it is back.
     */
    departedAt: v.optional(timestamp),
  }),
  v.check(
    ({ address, url }) => address === undefined || url === undefined,
    'must not have both address and url: keep one',
  ),
);

export const servedVersions = listOf(versionName, snapshotLimits.versions);

/** `storageVersionHash` in classic discovery (k8s.io/apiserver pkg/endpoints/discovery/storageversionhash.go). */
export const storageVersionHashPattern = /^[A-Za-z0-9+/]{11}=$/;

/** A storage version hash; a digest of a schema has the same form (see `ServedSet.schemas`). */
export const storageVersionHash = textThat(
  (value) => storageVersionHashPattern.test(value),
  'eight bytes in base64, such as 8aSe+NMegvE=',
);

const subresourceName = textThat(isSubresourceName, 'a subresource such as status or scale');

/** By API version. */
const byVersion = <Value extends v.GenericSchema>(value: Value) =>
  v.pipe(
    jsonObject,
    v.check(
      (given) => Object.keys(given).length <= snapshotLimits.versions,
      `must have at most ${snapshotLimits.versions} entries`,
    ),
    v.record(versionName, value),
  );

export const subresourcesByVersion = byVersion(listOf(subresourceName, snapshotLimits.subresources));
export const schemaDigests = byVersion(storageVersionHash);

/** Where a server's own OpenAPI v3 document is. Never `//host/…`, which a URL parser takes for another host. */
export const serverRelativeURL = textThat(
  (value) => value.length <= snapshotLimits.relativeURL && /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(value),
  'a path beginning with one slash, in printable ASCII',
);

const words = listOf(shortTextOrEmpty, snapshotLimits.words);

const groupVersionKind = strict({
  group: v.optional(shortTextOrEmpty),
  version: v.optional(shortTextOrEmpty),
  kind: v.optional(shortTextOrEmpty),
});

const subresourceDiscovery = strict({
  subresource: subresourceName,
  responseKind: v.optional(groupVersionKind),
  acceptedTypes: v.optional(listOf(groupVersionKind, snapshotLimits.words)),
  verbs: v.optional(words),
});

/** Names are held to less than in `storageVersions`: the metrics APIs discover names such as `pods/http_requests`. */
export const resourceDiscovery = strict({
  resource: shortText,
  responseKind: v.optional(groupVersionKind),
  scope: v.optional(v.picklist(['Cluster', 'Namespaced'], expected('"Cluster" or "Namespaced"'))),
  singularResource: v.optional(shortTextOrEmpty),
  verbs: v.optional(words),
  shortNames: v.optional(words),
  categories: v.optional(words),
  subresources: v.optional(listOf(subresourceDiscovery, snapshotLimits.subresources)),
});

/** Without its resources. */
export const versionDiscovery = strict({
  version: versionName,
  freshness: v.optional(v.picklist(['Current', 'Stale'], expected('"Current" or "Stale"'))),
});

/** Without its versions. */
export const groupDiscovery = strict({ metadata: strict({ name: v.optional(groupName) }) });

const service = strict({ namespace: dns1123Label, name: dns1123Label });

/** An APIService; with a service, an extension API server answers behind the aggregator of every API server. */
export const apiService = strict({
  group: groupName,
  version: versionName,
  service: v.optional(service),
  available: boolean,
});

/** CustomResourceDefinitions cannot extend the legacy group, so the group is never empty. */
export const customResourceGroup = strict({ group: dns1123Subdomain, version: versionName });

export type Immutable<Value> = Value extends object
  ? { readonly [Key in keyof Value]: Immutable<Value[Key]> }
  : Value;

/**
 * Servers of a cluster and what they serve, at one moment. Made by the sync job, taken whole or not at all by a router.
 */
export interface Snapshot extends Immutable<v.InferOutput<typeof snapshotHead>> {
  readonly servers: readonly SnapshotServer[];
  /** Key: `sha256:<hex>` of the set's canonical JSON. Servers that serve the same share one set. */
  readonly servedSets: Readonly<Record<string, ServedSet>>;
  readonly apiServices: readonly SnapshotApiService[];
  readonly customResourceGroups: readonly Immutable<v.InferOutput<typeof customResourceGroup>>[];
}

export type SnapshotMetadata = Snapshot['metadata'];
export type VersionChange = NonNullable<SnapshotMetadata['versionChanges']>[number];
export type SnapshotServer = Immutable<v.InferOutput<typeof server>>;
/** An APIService (apiregistration.k8s.io/v1). Without `service` it is served by the API servers themselves. */
export type SnapshotApiService = Immutable<v.InferOutput<typeof apiService>>;

// Types of apidiscovery.k8s.io (k8s.io/api apidiscovery/v2/types.go), of which v2 and v2beta1 have the same.

export type GroupVersionKind = Immutable<v.InferOutput<typeof groupVersionKind>>;
export type APISubresourceDiscovery = Immutable<v.InferOutput<typeof subresourceDiscovery>>;
export type APIResourceDiscovery = Immutable<v.InferOutput<typeof resourceDiscovery>>;
export interface APIVersionDiscovery extends Immutable<v.InferOutput<typeof versionDiscovery>> {
  readonly resources?: readonly APIResourceDiscovery[] | undefined;
}
/** The legacy group has no name, or an empty one. */
export interface APIGroupDiscovery extends Immutable<v.InferOutput<typeof groupDiscovery>> {
  readonly versions?: readonly APIVersionDiscovery[] | undefined;
}

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
   * types, defaults and rules (`schemaDigests` makes them). Absent: this server was not compared with others, and every
   * resource that it shares with servers of another `version` counts as differing. Present, a
   * resource or version missing in it could not be read: it counts as another one than that of other minor versions.
   */
  readonly schemas?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined;
  /** The server's own groups in aggregated form (`apidiscovery.k8s.io/v2`), the legacy group under the empty name. */
  readonly discovery?: readonly APIGroupDiscovery[] | undefined;
  /** Path (as in the `/openapi/v3` index, for example `apis/batch/v1`) to the server's own `serverRelativeURL`. */
  readonly openapiV3?: Readonly<Record<string, string>> | undefined;
}

// Names that a snapshot may have, beside its values: the keys of its maps.

export const prototypeKeyIssue = 'must not be used as a name';

export function nameIssue(key: string): string | undefined {
  return isPrototypeKey(key) ? prototypeKeyIssue : undefined;
}

export function setKeyIssue(key: string): string | undefined {
  return sha256DigestPattern.test(key)
    ? undefined
    : 'must be named sha256: and 64 hexadecimal digits in lower case';
}

const prototypeKeys = new Set(['__proto__', 'constructor', 'prototype']);

/**
 * True if a snapshot may have no member of this name. `JSON.parse` makes plain members of such names. Code that does
 * not know better copies them from object to object, into prototypes. No name of Kubernetes is spelled like this.
 */
export function isPrototypeKey(key: string): boolean {
  return prototypeKeys.has(key);
}

/** Upstream's rule for the name of a StorageVersion (pkg/apis/apiserverinternal/validation). */
export function storageVersionNameIssue(name: string): string | undefined {
  const parsed = parseStorageVersionName(name);
  if (parsed === undefined) return 'must be named <group>.<resource>, the legacy group written core';
  // core has become the empty group.
  if (parsed.group !== '' && !isDns1123Subdomain(parsed.group)) {
    return 'must begin with an API group, a DNS subdomain in lower case';
  }
  return isDns1035Label(parsed.resource) ? undefined : 'must end in a resource name, an RFC 1035 label';
}

export function documentPathIssue(path: string): string | undefined {
  return path !== '' && !path.startsWith('/') && path.length <= snapshotLimits.text && isVisibleAscii(path)
    ? undefined
    : 'must be a path without its leading slash, such as apis/batch/v1';
}

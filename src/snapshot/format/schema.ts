import * as v from 'valibot';
import { storageVersionHashPattern } from '../../apimachinery/storage-version-hash.ts';
import { parseRfc3339 } from '../../runtime/rfc3339.ts';
import { advertisedBy } from '../addresses/advertised-address.ts';
import { parseIpAddress } from '../addresses/ip-address.ts';
import { isDns1035Label, isDns1123Subdomain, isSubresourceName } from '../addresses/names.ts';
import { snapshotLimits } from './limits.ts';
import {
  boolean,
  dns1123Label,
  dns1123Subdomain,
  expected,
  groupName,
  hostPort,
  httpsOrigin,
  listOf,
  shortText,
  shortTextOrEmpty,
  strict,
  versionName,
  wholeNumber,
} from './schema-parts.ts';

// The snapshot's schema, one piece for each thing that `parseSnapshot` reads on its own. The pieces are
// small so that a snapshot of a million errors is refused in bounded memory. `types.ts` has the types.

export const snapshotApiVersion = 'mixed-version-proxy/v1alpha1';
export const snapshotKind = 'StorageVersionSnapshot';
export const apiVersion = v.literal(snapshotApiVersion, expected(`"${snapshotApiVersion}"`));
export const kind = v.literal(snapshotKind, expected(`"${snapshotKind}"`));

/** RFC 3339, as Kubernetes writes times. */
export const timestamp = v.pipe(
  v.string(expected('an RFC 3339 time')),
  v.check(
    (value) => parseRfc3339(value) !== undefined,
    expected('an RFC 3339 time such as 2026-01-31T12:00:00Z'),
  ),
);
export const generation = wholeNumber(1, Number.MAX_SAFE_INTEGER);

const minorVersionText = v.pipe(
  v.string(expected('a minor version')),
  v.regex(/^(?:0|[1-9]\d{0,3})\.(?:0|[1-9]\d{0,3})$/, expected('a minor version such as 1.36')),
);

/** A server that has come, left, or changed its version, and from when on that counts for which version is preferred. */
const versionChange = strict({
  server: dns1123Subdomain,
  /** Left out: it was not there, or of no known version. */
  from: v.optional(minorVersionText),
  /** Left out: it is no longer there, or of no known version. */
  to: v.optional(minorVersionText),
  at: timestamp,
});

export const metadata = strict({
  /** Only ever rising. */
  generation,
  createdAt: timestamp,
  cluster: v.optional(shortText),
  /** Of the last minute. Every router changes the preferred version at the instant that is written here. */
  versionChanges: v.optional(listOf(versionChange, snapshotLimits.servers)),
  source: v.picklist(
    ['storageversions', 'discovery', 'both'],
    expected('"storageversions", "discovery" or "both"'),
  ),
});

const tlsName = v.pipe(
  v.string(expected('a DNS name or an IP address')),
  v.check(
    (value) => isDns1123Subdomain(value) || parseIpAddress(value) !== undefined,
    expected('a DNS name in lower case, or an IP address'),
  ),
);

/**
 * Where the sync job has a server's address from: the annotation on its identity Lease, the EndpointSlice of the Service
 * `kubernetes`, or an operator who listed the server by hand.
 */
export const addressSources = ['lease', 'endpointslice', 'listed'] as const;

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
    /** What the router in front of the server advertises; where there is one, peers call this address. */
    advertised: v.optional(
      strict({ address: hostPort, by: v.picklist(advertisedBy, expected('the setting of a router')) }),
    ),
    /** TLS name of the server; default `kubernetes.default.svc`. */
    serverName: v.optional(tlsName),
    /** As `/version` says, for example `v1.26.15`. */
    version: v.optional(shortText),
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

const groupVersion = v.pipe(
  v.string(expected('a group version')),
  v.check(
    (value) => value.length <= snapshotLimits.text && isGroupVersion(value),
    expected('a group version such as batch/v1, of the legacy group v1'),
  ),
);
export const groupVersions = listOf(groupVersion, snapshotLimits.versions);

function isGroupVersion(text: string): boolean {
  const slash = text.lastIndexOf('/');
  return isDns1035Label(text.slice(slash + 1)) && (slash === -1 || isDns1123Subdomain(text.slice(0, slash)));
}

/** A storage version hash; a digest of a schema has the same form (see `ServedSet.schemas`). */
export const storageVersionHash = v.pipe(
  v.string(expected('eight bytes in base64')),
  v.regex(storageVersionHashPattern, expected('eight bytes in base64, such as 8aSe+NMegvE=')),
);

const subresourceName = v.pipe(
  v.string(expected('a subresource')),
  v.check(isSubresourceName, expected('a subresource such as status or scale')),
);
export const subresourceNames = listOf(subresourceName, snapshotLimits.subresources);

/** Where a server's own OpenAPI v3 document is. Never `//host/…`, which a URL parser takes for another host. */
export const serverRelativeURL = v.pipe(
  v.string(expected('a path')),
  v.check(
    (value) => value.length <= snapshotLimits.relativeURL && /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/.test(value),
    expected('a path beginning with one slash, in printable ASCII'),
  ),
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

export const freshness = v.picklist(['Current', 'Stale'], expected('"Current" or "Stale"'));

export const groupMetadata = strict({ name: v.optional(groupName) });

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

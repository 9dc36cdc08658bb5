import * as v from 'valibot';
import { parseRfc3339 } from '../../runtime/time.ts';
import { shortText } from '../../snapshot/format/schema.ts';
import { placeOf } from './endpoints.ts';
import { checkedDocument } from './server-documents.ts';

const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

/** Identity Leases by their labels: from 1.28 on, and before. No selector covers both, so there are two lists. */
export const identityLeasePaths = [
  'apiserver.kubernetes.io/identity=kube-apiserver',
  'k8s.io/component=kube-apiserver',
].map((selector) => `${leasesPath}?labelSelector=${encodeURIComponent(selector)}`);

export interface IdentityLease {
  /** Name of the Lease, which is the ID of the server. */
  readonly id: string;
  /** Host name of the operating system; servers before 1.26 do not write it. Never one that a snapshot cannot hold. */
  readonly hostname: string | undefined;
  /**
   * For peers; only servers with Kubernetes' own peer proxy write it (1.28 and later), unchecked: `:6443` without an IP
   * address is one. Whoever takes it checks it (`WatchedCluster`).
   */
  readonly address: string | undefined;
  /** The Lease names an address that is not used: its server is there all the same. */
  readonly isAddressRefused?: boolean;
  /** Differs for each process, so a change is a restart. Empty: the Lease has no holder. */
  readonly holderIdentity: string;
  /** Milliseconds since the epoch by the server's clock; `-Infinity` if it was never renewed. */
  readonly renewedAt: number;
  /** Milliseconds since the epoch by etcd's leader's clock; `undefined`: the object does not say. */
  readonly createdAt: number | undefined;
  readonly durationMilliseconds: number;
}

/** IdentityLeaseDurationSeconds in k8s.io/kubernetes pkg/controlplane/apiserver/server.go. */
const defaultDurationSeconds = 3600;

const lease = v.object({
  metadata: v.object({
    name: v.string(),
    creationTimestamp: v.nullish(v.string(), ''),
    labels: v.nullish(v.record(v.string(), v.string())),
    annotations: v.nullish(v.record(v.string(), v.string())),
  }),
  spec: v.nullish(
    v.object({
      holderIdentity: v.nullish(v.string(), ''),
      leaseDurationSeconds: v.nullish(v.number(), defaultDurationSeconds),
      renewTime: v.nullish(v.string(), ''),
    }),
    {},
  ),
});

export function isSameHost(one: IdentityLease, other: IdentityLease): boolean {
  return one.hostname !== undefined && one.hostname === other.hostname;
}

export function parseIdentityLease(object: unknown): IdentityLease {
  const { metadata, spec } = checkedDocument(lease, leasesPath, object);
  const hostname = metadata.labels?.['kubernetes.io/hostname'];
  const address = metadata.annotations?.['kubernetes.io/peer-advertise-address'];
  return {
    id: metadata.name,
    hostname: v.is(shortText, hostname) ? hostname : undefined,
    address: address || undefined,
    holderIdentity: spec.holderIdentity,
    renewedAt: parseRfc3339(spec.renewTime) ?? Number.NEGATIVE_INFINITY,
    createdAt: parseRfc3339(metadata.creationTimestamp),
    durationMilliseconds: spec.leaseDurationSeconds * 1000,
  };
}

/** Standing of an identity Lease: it still says that its server runs, or why not. */
export type LeaseStanding =
  | { readonly kind: 'held' }
  /** Not renewed within its duration. */
  | { readonly kind: 'expired' }
  /** Another process, on the same host or at the same address, holds a newer Lease. */
  | { readonly kind: 'superseded'; readonly by: string };

/** Tolerance for a server's clock, before its Lease counts as expired, milliseconds. A server that can be read stays. */
const clockSkew = 60_000;

/**
 * How much later another Lease must have been renewed to supersede this one, milliseconds. API servers renew every 10 s,
 * so three renewals were missed. Two servers that both renew never supersede each other.
 */
const supersededAfter = 30_000;

export function leaseStanding(
  lease: IdentityLease,
  leases: readonly IdentityLease[],
  now: number,
): LeaseStanding {
  const successors = leases
    .filter((other) => other.renewedAt - lease.renewedAt > supersededAfter && isSuccessor(lease, other))
    .sort((one, other) => other.renewedAt - one.renewedAt || (one.id < other.id ? -1 : 1));
  const [successor] = successors;
  if (successor !== undefined) return { kind: 'superseded', by: successor.id };
  const endsAt = lease.renewedAt + lease.durationMilliseconds + clockSkew;
  return { kind: endsAt < now ? 'expired' : 'held' };
}

/** An upgrade can change the form of the ID, and the earlier Lease stays for up to an hour. */
function isSuccessor(lease: IdentityLease, other: IdentityLease): boolean {
  if (other.id === lease.id) return false;
  if (isSameHost(lease, other)) return true;
  return (
    lease.address !== undefined &&
    other.address !== undefined &&
    placeOf(lease.address) === placeOf(other.address)
  );
}

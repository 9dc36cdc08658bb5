import * as v from 'valibot';
import { parseRfc3339 } from '../../runtime/rfc3339.ts';
import { parseHostPort } from '../../snapshot/addresses/host-port.ts';
import { checkedDocument } from '../documents/json-document.ts';

export const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

/** Labels of identity Leases: from 1.28 on, and before. No selector covers both, so there are two lists. */
export const identityLeaseSelectors = [
  'apiserver.kubernetes.io/identity=kube-apiserver',
  'k8s.io/component=kube-apiserver',
] as const;

/** The identity Lease of an API server (KEP-1965). */
export interface IdentityLease {
  /** Name of the Lease, which is the ID of the server. */
  readonly id: string;
  /** Host name of the operating system; servers before 1.26 do not write it. */
  readonly hostname: string | undefined;
  /** `host:port` for peers; only servers with Kubernetes' own peer proxy write it (1.28 and later). */
  readonly address: string | undefined;
  /** Differs for each process, so a change is a restart. Empty: the Lease has no holder. */
  readonly holderIdentity: string;
  /** Milliseconds since the epoch by the server's clock; `-Infinity` if it was never renewed. */
  readonly renewedAt: number;
  readonly durationMilliseconds: number;
}

const lease = v.object({
  metadata: v.object({
    name: v.string(),
    labels: v.nullish(v.record(v.string(), v.string())),
    annotations: v.nullish(v.record(v.string(), v.string())),
  }),
  spec: v.nullish(
    v.object({
      holderIdentity: v.nullish(v.string()),
      leaseDurationSeconds: v.nullish(v.number()),
      renewTime: v.nullish(v.string()),
    }),
  ),
});

/** IdentityLeaseDurationSeconds in k8s.io/kubernetes pkg/controlplane/apiserver/server.go. */
const defaultDurationSeconds = 3600;

/** Whether two Leases belong to one host: one server in two versions. */
export function isSameHost(one: IdentityLease, other: IdentityLease): boolean {
  return one.hostname !== undefined && one.hostname === other.hostname;
}

/** @throws {ReadError} `InvalidDocument` for any other object */
export function parseIdentityLease(object: unknown): IdentityLease {
  const { metadata, spec } = checkedDocument(lease, leasesPath, object);
  const address = metadata.annotations?.['kubernetes.io/peer-advertise-address'];
  return {
    id: metadata.name,
    hostname: metadata.labels?.['kubernetes.io/hostname'],
    // Upstream writes it unchecked, for example `:6443` without an IP address. Such an address does not count.
    address: address !== undefined && parseHostPort(address).ok ? address : undefined,
    holderIdentity: spec?.holderIdentity ?? '',
    renewedAt: parseRfc3339(spec?.renewTime ?? '') ?? Number.NEGATIVE_INFINITY,
    durationMilliseconds: (spec?.leaseDurationSeconds ?? defaultDurationSeconds) * 1000,
  };
}

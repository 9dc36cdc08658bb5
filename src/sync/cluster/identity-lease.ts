import * as v from 'valibot';
import { parseRfc3339 } from '../../runtime/rfc3339.ts';
import { parseHostPort } from '../../snapshot/addresses/host-port.ts';
import { checkedDocument } from '../documents/json-document.ts';

export const leasesPath = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

/** Labels of identity Leases: since 1.28, and before. A selector cannot ask for either, so each is its own list. */
export const identityLeaseSelectors = [
  'apiserver.kubernetes.io/identity=kube-apiserver',
  'k8s.io/component=kube-apiserver',
] as const;

/** What an API server says of itself in its identity Lease (KEP-1965). */
export interface IdentityLease {
  /** Name of the Lease, and the server's ID wherever else it is named. */
  readonly id: string;
  /** As the operating system says it; servers before 1.26 do not tell. */
  readonly hostname: string | undefined;
  /** `host:port` for peers; only servers with Kubernetes' own peer proxy on tell (1.28 and later). */
  readonly address: string | undefined;
  /** Another one for every process, so a change is a restart. Empty: nobody holds the Lease. */
  readonly holderIdentity: string;
  /** Milliseconds since the epoch by the server's clock; `-Infinity` when it never was. */
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

/** Whether two Leases are those of one host: one server, in two versions. */
export function isSameHost(one: IdentityLease, other: IdentityLease): boolean {
  return one.hostname !== undefined && one.hostname === other.hostname;
}

/** @throws {ReadError} `InvalidDocument` for what is no Lease */
export function parseIdentityLease(object: unknown): IdentityLease {
  const { metadata, spec } = checkedDocument(lease, leasesPath, object);
  const address = metadata.annotations?.['kubernetes.io/peer-advertise-address'];
  return {
    id: metadata.name,
    hostname: metadata.labels?.['kubernetes.io/hostname'],
    // Upstream writes it unchecked (`:6443` where no IP was given); such a one is as good as none.
    address: address !== undefined && parseHostPort(address).ok ? address : undefined,
    holderIdentity: spec?.holderIdentity ?? '',
    renewedAt: parseRfc3339(spec?.renewTime ?? '') ?? Number.NEGATIVE_INFINITY,
    durationMilliseconds: (spec?.leaseDurationSeconds ?? defaultDurationSeconds) * 1000,
  };
}

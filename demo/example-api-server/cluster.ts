import { createHash, randomUUID } from 'node:crypto';
import { type KubernetesObject, numberAt, textAt } from './kubernetes-object.ts';
import type { KubernetesVersion, Priority } from './kubernetes-versions.ts';
import { byPriority, type ServedResources } from './served-resources.ts';
import { type ExampleStore, type StorageKey, withMetadata } from './store.ts';

const apiServices: StorageKey = { group: 'apiregistration.k8s.io', resource: 'apiservices' };
const leases: StorageKey = { group: 'coordination.k8s.io', resource: 'leases' };

/**
 * Makes sure of an APIService object for every group version that a server serves, as its aggregator does at
 * start. They are never removed: another server may still serve the group version. That is why the classic
 * `/apis` of every server of a cluster lists the group versions of all of them.
 */
export function registerApiServices(store: ExampleStore, served: ServedResources): void {
  for (const { group, version, priority } of served.groupVersions()) {
    const name = `${version}.${group}`;
    // The aggregator serves its own group without an APIService.
    if (group === 'apiregistration.k8s.io' || store.get(apiServices, '', name) !== undefined) continue;
    store.create(apiServices, apiService(name, group, version, priority, store.timestamp()));
  }
}

function apiService(
  name: string,
  group: string,
  version: string,
  priority: Priority,
  now: string,
): KubernetesObject {
  return {
    apiVersion: 'apiregistration.k8s.io/v1',
    kind: 'APIService',
    metadata: { name, labels: { 'kube-aggregator.kubernetes.io/automanaged': 'onstart' } },
    spec: {
      ...(group === '' ? {} : { group }),
      version,
      groupPriorityMinimum: priority.group,
      versionPriority: priority.version,
    },
    status: {
      conditions: [
        {
          type: 'Available',
          status: 'True',
          lastTransitionTime: now,
          reason: 'Local',
          message: 'Local APIServices are always available',
        },
      ],
    },
  };
}

/** The group versions of the cluster, core left out, in the order of discovery. */
export function registeredGroupVersions(store: ExampleStore): { group: string; version: string }[] {
  const registered = store.list(apiServices).map((object) => ({
    group: textAt(object, 'spec', 'group'),
    version: textAt(object, 'spec', 'version'),
    priority: {
      group: numberAt(object, 'spec', 'groupPriorityMinimum') ?? 0,
      version: numberAt(object, 'spec', 'versionPriority') ?? 0,
    },
  }));
  const listed = registered.filter(({ group }) => group !== '').sort(byPriority);
  return [{ group: 'apiregistration.k8s.io', version: 'v1' }, ...listed];
}

/**
 * The ID of an API server: `apiserver-` and the first 16 bytes of a SHA-256, in base32, over the host name and
 * `kube-apiserver`, each behind its length in two bytes (k8s.io/apiserver pkg/server/config.go). Kubernetes
 * 1.25 and 1.26 built the name of their lease in other ways; here it always follows from the host name.
 */
export function apiServerId(hostname: string): string {
  const hash = createHash('sha256');
  for (const part of [hostname, 'kube-apiserver']) {
    const bytes = Buffer.from(part);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return `apiserver-${base32(hash.digest().subarray(0, 16))}`;
}

const base32Alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** RFC 4648 section 6, in lower case and without padding. */
function base32(bytes: Uint8Array): string {
  let bits = '';
  for (const byte of bytes) bits += byte.toString(2).padStart(8, '0');
  const groups = bits.match(/.{1,5}/g) ?? [];
  return groups.map((group) => base32Alphabet[Number.parseInt(group.padEnd(5, '0'), 2)]).join('');
}

export interface IdentityLeaseOptions {
  readonly serverId: string;
  readonly hostname: string;
  /** `host:port` at which peers reach the server. */
  readonly advertiseAddress: string;
  readonly version: KubernetesVersion;
}

const renewIntervalMilliseconds = 10_000;

/**
 * Registers a server: its identity Lease in kube-system, renewed until the returned function is called, which
 * removes it. All versions write the annotation with their address here; recorded leases of 1.25 and 1.26 have none.
 */
export function holdIdentityLease(store: ExampleStore, options: IdentityLeaseOptions): () => void {
  const { serverId, hostname, advertiseAddress, version } = options;
  const [label, value] = version.identityLabel;
  const metadata = { namespace: 'kube-system', name: serverId };
  const spec = { holderIdentity: `${serverId}_${randomUUID()}`, leaseDurationSeconds: 3600 };
  const lease: KubernetesObject = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: {
      ...metadata,
      labels: { [label]: value, 'kubernetes.io/hostname': hostname },
      annotations: { 'kubernetes.io/peer-advertise-address': advertiseAddress },
    },
  };
  const write = (): void => {
    const renewed = { ...lease, spec: { ...spec, renewTime: store.microTimestamp() } };
    const current = store.get(leases, metadata.namespace, serverId);
    if (current === undefined) store.create(leases, renewed);
    else store.update(leases, withMetadata(renewed, { uid: current.metadata.uid }));
  };
  write();
  const timer = setInterval(write, renewIntervalMilliseconds);
  timer.unref();
  return () => {
    clearInterval(timer);
    if (store.get(leases, metadata.namespace, serverId) === undefined) return;
    store.remove(leases, metadata.namespace, serverId);
  };
}

/** One RBAC rule that the sync job needs. */
export type SyncPermission = {
  readonly verbs: readonly string[];
  /**
   * `always`: the sync job does not work without it. `storage-versions`: if the StorageVersion API is enabled, to check
   * readings. `leader-election`: with --leader-elect.
   */
  readonly neededFor: 'always' | 'storage-versions' | 'leader-election';
} & (
  | {
      readonly kind: 'resource';
      readonly group: string;
      readonly resource: string;
      /** `undefined`: in all namespaces. */
      readonly namespace: string | undefined;
      /** The only object that it allows. */
      readonly name?: string;
    }
  | {
      readonly kind: 'path';
      /** As in a ClusterRole: `*` at the end matches any rest. */
      readonly paths: readonly string[];
    }
);

/** The defaults of --leader-elect-lease-namespace and --leader-elect-lease-name. */
const lease = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' } as const;

/** Everything that the sync job reads and writes, as in docs/guides/sync.md and deploy/sync/rbac.yaml. */
export const syncPermissions: readonly SyncPermission[] = [
  {
    kind: 'path',
    paths: ['/api', '/api/*', '/apis', '/apis/*', '/openapi/v3', '/openapi/v3/*', '/version'],
    verbs: ['get'],
    neededFor: 'always',
  },
  watched('apiregistration.k8s.io', 'apiservices', undefined),
  watched('apiextensions.k8s.io', 'customresourcedefinitions', undefined),
  { ...watched('internal.apiserver.k8s.io', 'storageversions', undefined), neededFor: 'storage-versions' },
  watched(lease.group, lease.resource, lease.namespace),
  watched('discovery.k8s.io', 'endpointslices', 'default'),
  // create cannot be restricted to a name (RBAC, "Referring to resources").
  { kind: 'resource', ...lease, verbs: ['create'], neededFor: 'leader-election' },
  {
    kind: 'resource',
    ...lease,
    name: 'mixed-version-proxy-sync',
    verbs: ['get', 'update'],
    neededFor: 'leader-election',
  },
];

function watched(group: string, resource: string, namespace: string | undefined): SyncPermission {
  return { kind: 'resource', group, resource, namespace, verbs: ['list', 'watch'], neededFor: 'always' };
}

/** One rule that the sync job needs, in the words of RBAC. */
export type SyncPermission = {
  readonly verbs: readonly string[];
  /**
   * `always`: without it the sync job does not find out what it is for. `storage-versions`: where the StorageVersion
   * API is on, as a check on what was read. `extension-routing`: for routers with --extension-routing=extension.
   * `leader-election`: with --leader-elect.
   */
  readonly neededFor: 'always' | 'storage-versions' | 'extension-routing' | 'leader-election';
} & (
  | {
      readonly kind: 'resource';
      readonly group: string;
      readonly resource: string;
      /** `undefined`: in all of the cluster. */
      readonly namespace: string | undefined;
      /** Of the only object it is for. */
      readonly name?: string;
    }
  | {
      readonly kind: 'path';
      /** As a ClusterRole names them: `*` at the end stands for everything behind it. */
      readonly paths: readonly string[];
    }
);

/** By the defaults of --leader-elect-lease-namespace and --leader-elect-lease-name. */
const lease = { group: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-system' } as const;

/** All that the sync job asks API servers for: docs/guides/sync.md and deploy/sync/rbac.yaml in one list. */
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
  // Of the Services that APIServices name, wherever those are.
  {
    kind: 'resource',
    group: '',
    resource: 'services',
    namespace: undefined,
    verbs: ['get'],
    neededFor: 'extension-routing',
  },
  {
    kind: 'resource',
    group: 'discovery.k8s.io',
    resource: 'endpointslices',
    namespace: undefined,
    verbs: ['list'],
    neededFor: 'extension-routing',
  },
  // What may be created cannot be restricted to a name (RBAC, "Referring to resources").
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

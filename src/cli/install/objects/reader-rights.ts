import { type SyncPermission, syncPermissions } from '../../../sync/sync-permissions.ts';

/** An object of Kubernetes, and the collection that it is created in. */
export interface RightsObject {
  readonly collection: string;
  readonly object: Readonly<Record<string, unknown>> & {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace?: string };
  };
}

/** Common name of the client certificate that routers read the cluster with. */
export const readerName = 'mixed-version-proxy-sync';

const apiGroup = 'rbac.authorization.k8s.io';
const apiVersion = `${apiGroup}/v1`;

/** What the sync job may do, but for electing a leader: a router reads for itself. By namespace. */
const rights = Map.groupBy(
  syncPermissions.filter(({ neededFor }) => neededFor !== 'leader-election'),
  (permission) => (permission.kind === 'path' ? undefined : permission.namespace),
);

function ruleOf(permission: SyncPermission): object {
  const { verbs } = permission;
  return permission.kind === 'path'
    ? { nonResourceURLs: permission.paths, verbs }
    : { apiGroups: [permission.group], resources: [permission.resource], verbs };
}

/**
 * What a router that reads the cluster may do, for the user of its certificate: the rules of deploy/sync/rbac.yaml. Under
 * names of their own, so that neither overwrites the other's subjects.
 */
export const readerRights: readonly RightsObject[] = [...rights].flatMap(([namespace, permissions]) => {
  const rules = permissions.map(ruleOf);
  const scope = namespace === undefined ? 'Cluster' : '';
  const metadata = {
    name: 'mixed-version-proxy-router',
    ...(namespace === undefined ? {} : { namespace }),
  };
  const path = `/apis/${apiVersion}${namespace === undefined ? '' : `/namespaces/${namespace}`}`;
  return [
    {
      collection: `${path}/${scope.toLowerCase()}roles`,
      object: { apiVersion, kind: `${scope}Role`, metadata, rules },
    },
    {
      collection: `${path}/${scope.toLowerCase()}rolebindings`,
      object: {
        apiVersion,
        kind: `${scope}RoleBinding`,
        metadata,
        roleRef: { apiGroup, kind: `${scope}Role`, name: metadata.name },
        subjects: [{ apiGroup, kind: 'User', name: readerName }],
      },
    },
  ];
});

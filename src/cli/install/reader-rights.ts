import { ownPathsPrefix } from '../../request/own-path-target.ts';

export interface RightsObject {
  readonly collection: string;
  readonly object: Readonly<Record<string, unknown>> & {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace?: string };
  };
}

/** Common name of the client certificate that routers read the cluster with. */
export const readerName = 'mixed-version-proxy-reader';

const apiGroup = 'rbac.authorization.k8s.io';
const apiVersion = `${apiGroup}/v1`;

function watched(group: string, resource: string): object {
  return { apiGroups: [group], resources: [resource], verbs: ['list', 'watch'] };
}

function ownPaths(verbs: readonly string[], ...paths: readonly string[]): object {
  return { nonResourceURLs: paths.map((path) => `${ownPathsPrefix}/${path}`), verbs };
}

interface Role {
  readonly name: string;
  /** Default: none, a ClusterRole. */
  readonly namespace?: string;
  readonly rules: readonly object[];
  readonly subjects: readonly object[];
}

const reader = {
  name: readerName,
  subjects: [{ apiGroup, kind: 'User', name: readerName }],
};

const roles: readonly Role[] = [
  {
    ...reader,
    rules: [
      {
        nonResourceURLs: [
          '/api',
          '/api/*',
          '/apis',
          '/apis/*',
          '/openapi/v3',
          '/openapi/v3/*',
          '/version',
          '/readyz',
          '/metrics',
        ],
        verbs: ['get'],
      },
      watched('apiregistration.k8s.io', 'apiservices'),
      watched('apiextensions.k8s.io', 'customresourcedefinitions'),
      watched('internal.apiserver.k8s.io', 'storageversions'),
    ],
  },
  { ...reader, namespace: 'kube-system', rules: [watched('coordination.k8s.io', 'leases')] },
  { ...reader, namespace: 'default', rules: [watched('discovery.k8s.io', 'endpointslices')] },
  // Callers who may do everything need none of these (`kubeadm:cluster-admins`).
  {
    name: 'mixed-version-proxy-monitor',
    rules: [ownPaths(['get'], 'metrics', 'v1/status')],
    subjects: [{ apiGroup, kind: 'Group', name: 'system:monitoring' }],
  },
];

/**
 * Rights of routers to read, and of callers to their paths: of reader.yaml and own-paths.yaml of deploy/kubernetes what an installation
 * needs, which has neither a ServiceAccount nor a sync job.
 */
export const routerRights: readonly RightsObject[] = roles.flatMap(
  ({ name, namespace, rules, subjects }): RightsObject[] => {
    const scope = namespace === undefined ? 'Cluster' : '';
    const metadata = namespace === undefined ? { name } : { name, namespace };
    const path = `/apis/${apiVersion}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${scope.toLowerCase()}`;
    const roleRef = { apiGroup, kind: `${scope}Role`, name };
    return [
      { collection: `${path}roles`, object: { apiVersion, kind: `${scope}Role`, metadata, rules } },
      {
        collection: `${path}rolebindings`,
        object: { apiVersion, kind: `${scope}RoleBinding`, metadata, roleRef, subjects },
      },
    ];
  },
);

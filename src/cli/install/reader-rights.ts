import { ownPathsPrefix } from '../../request/own-path-target.ts';

interface RightsObject {
  readonly collection: string;
  readonly object: Readonly<Record<string, unknown>> & {
    readonly kind: string;
    readonly metadata: { readonly name: string; readonly namespace?: string };
  };
}

/** Common name of the client certificate that routers read the cluster with. */
export const readerName = 'mixed-version-proxy-reader';

/** Of a sync job, which may push as well. */
const syncJobName = 'mixed-version-proxy-sync';

const apiGroup = 'rbac.authorization.k8s.io';
const apiVersion = `${apiGroup}/v1`;

function watched(group: string, resource: string): object {
  return { apiGroups: [group], resources: [resource], verbs: ['list', 'watch'] };
}

function ownPaths(verbs: readonly string[], ...paths: readonly string[]): object {
  return { nonResourceURLs: paths.map((path) => `${ownPathsPrefix}/${path}`), verbs };
}

function subjectsNamed(name: string): readonly object[] {
  return [
    { kind: 'ServiceAccount', name, namespace: 'kube-system' },
    { apiGroup, kind: 'User', name },
  ];
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
  subjects: [...subjectsNamed(readerName), ...subjectsNamed(syncJobName)],
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
  // Those who may do everything need none of these (`kubeadm:cluster-admins`).
  {
    name: 'mixed-version-proxy-monitor',
    rules: [ownPaths(['get'], 'metrics', 'metrics/slis', 'v1/status')],
    subjects: [{ apiGroup, kind: 'Group', name: 'system:monitoring' }],
  },
  {
    name: 'mixed-version-proxy-push',
    rules: [ownPaths(['get', 'head', 'put'], 'v1/snapshot')],
    subjects: subjectsNamed(syncJobName),
  },
];

/** What routers may read, and who may use their paths: reader.yaml and own-paths.yaml of deploy/kubernetes. */
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

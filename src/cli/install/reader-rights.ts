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

/** The namespace that a role is in, and its rules; without a namespace, a ClusterRole. */
const rights: readonly (readonly [string | undefined, readonly object[]])[] = [
  [
    undefined,
    [
      {
        nonResourceURLs: ['/api', '/api/*', '/apis', '/apis/*', '/openapi/v3', '/openapi/v3/*', '/version'],
        verbs: ['get'],
      },
      watched('apiregistration.k8s.io', 'apiservices'),
      watched('apiextensions.k8s.io', 'customresourcedefinitions'),
      watched('internal.apiserver.k8s.io', 'storageversions'),
    ],
  ],
  ['kube-system', [watched('coordination.k8s.io', 'leases')]],
  ['default', [watched('discovery.k8s.io', 'endpointslices')]],
];

function watched(group: string, resource: string): object {
  return { apiGroups: [group], resources: [resource], verbs: ['list', 'watch'] };
}

function subjectsNamed(name: string): readonly object[] {
  return [
    { kind: 'ServiceAccount', name, namespace: 'kube-system' },
    { apiGroup, kind: 'User', name },
  ];
}

const readers = [readerName, syncJobName].flatMap(subjectsNamed);

/** What a router that reads the cluster may do: the roles and bindings of deploy/kubernetes/reader.yaml. */
export const readerRights: readonly RightsObject[] = rights.flatMap(([namespace, rules]) => {
  const scope = namespace === undefined ? 'Cluster' : '';
  const metadata = {
    name: readerName,
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
        subjects: readers,
      },
    },
  ];
});

interface OwnPathRole {
  readonly name: string;
  readonly paths: readonly string[];
  readonly verbs: readonly string[];
  readonly subjects: readonly object[];
}

/** Those who may do everything need none (`kubeadm:cluster-admins`). */
const roles: readonly OwnPathRole[] = [
  {
    name: 'mixed-version-proxy-monitor',
    paths: ['metrics', 'metrics/slis', 'v1/status'],
    verbs: ['get'],
    subjects: [{ apiGroup, kind: 'Group', name: 'system:monitoring' }],
  },
  {
    name: 'mixed-version-proxy-push',
    paths: ['v1/snapshot', 'v1/snapshot/renewal'],
    verbs: ['get', 'head', 'put'],
    subjects: subjectsNamed(syncJobName),
  },
];

/** Who may use the paths of routers: deploy/kubernetes/own-paths.yaml. */
export const ownPathRights: readonly RightsObject[] = roles.flatMap(({ name, paths, verbs, subjects }) => [
  {
    collection: `/apis/${apiVersion}/clusterroles`,
    object: {
      apiVersion,
      kind: 'ClusterRole',
      metadata: { name },
      rules: [{ nonResourceURLs: paths.map((path) => `${ownPathsPrefix}/${path}`), verbs }],
    },
  },
  {
    collection: `/apis/${apiVersion}/clusterrolebindings`,
    object: {
      apiVersion,
      kind: 'ClusterRoleBinding',
      metadata: { name },
      roleRef: { apiGroup, kind: 'ClusterRole', name },
      subjects,
    },
  },
]);

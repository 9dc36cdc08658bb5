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

const apiVersion = 'rbac.authorization.k8s.io/v1';
const apiGroup = 'rbac.authorization.k8s.io';
const rule = (group: string, resource: string, ...verbs: readonly string[]) => ({
  apiGroups: [group],
  resources: [resource],
  verbs,
});
const paths = ['/api', '/api/*', '/apis', '/apis/*', '/openapi/v3', '/openapi/v3/*', '/version'];

const rights: readonly { readonly namespace: string | undefined; readonly rules: readonly object[] }[] = [
  {
    namespace: undefined,
    rules: [
      { nonResourceURLs: paths, verbs: ['get'] },
      rule('apiregistration.k8s.io', 'apiservices', 'list', 'watch'),
      rule('apiextensions.k8s.io', 'customresourcedefinitions', 'list', 'watch'),
      rule('internal.apiserver.k8s.io', 'storageversions', 'list', 'watch'),
      rule('', 'services', 'get'),
      rule('discovery.k8s.io', 'endpointslices', 'list'),
    ],
  },
  { namespace: 'kube-system', rules: [rule('coordination.k8s.io', 'leases', 'list', 'watch')] },
  { namespace: 'default', rules: [rule('discovery.k8s.io', 'endpointslices', 'list', 'watch')] },
];

/**
 * What a router that reads the cluster may do, for the user of its certificate: the rules of deploy/sync/rbac.yaml. Under
 * names of their own, so that neither overwrites the other's subjects.
 */
export const readerRights: readonly RightsObject[] = rights.flatMap(({ namespace, rules }) => {
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

import { ownPathsPrefix } from '../../../request/own-path-target.ts';
import { type RightsObject, readerName } from './reader-rights.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const apiVersion = `${apiGroup}/v1`;

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
    subjects: [
      { kind: 'ServiceAccount', name: readerName, namespace: 'kube-system' },
      { apiGroup, kind: 'User', name: readerName },
    ],
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

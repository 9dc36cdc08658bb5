import type { GroupVersionKind } from './prune-definitions.ts';

/** Manifests of Kubernetes objects in deploy/ that every version takes, from the root of the repository. */
export const manifestPaths = [
  'deploy/kubernetes/mixed-version-proxy.yaml',
  'deploy/kubernetes/own-paths.yaml',
  'deploy/static-pod/mixed-version-proxy.yaml',
  'deploy/static-pod/kube-apiserver+strategic.yaml',
  'deploy/sync/deployment.yaml',
  'deploy/sync/rights.yaml',
  'deploy/kubernetes/reader.yaml',
] as const;

/** The same for what no recorded version serves: the live suite has the newest server read it, strictly. */
export const newerManifestPaths = ['deploy/kubernetes/pods-through-router.yaml'] as const;

/** Parts that kinds are made of. */
export const manifestKinds: readonly GroupVersionKind[] = [
  { group: '', version: 'v1', kind: 'ConfigMap' },
  { group: '', version: 'v1', kind: 'Pod' },
  { group: '', version: 'v1', kind: 'Service' },
  { group: '', version: 'v1', kind: 'ServiceAccount' },
  { group: 'apps', version: 'v1', kind: 'Deployment' },
  { group: 'apps', version: 'v1', kind: 'StatefulSet' },
  { group: 'networking.k8s.io', version: 'v1', kind: 'NetworkPolicy' },
  { group: 'policy', version: 'v1', kind: 'PodDisruptionBudget' },
  { group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'ClusterRole' },
  { group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'ClusterRoleBinding' },
  { group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'Role' },
  { group: 'rbac.authorization.k8s.io', version: 'v1', kind: 'RoleBinding' },
];

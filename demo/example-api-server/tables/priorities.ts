/**
 * `spec.groupPriorityMinimum` of the APIServices of built-in groups: the higher, the further up in discovery.
 * The same in every version (kube-apiserver cmd/kube-apiserver/app/aggregator.go).
 */
const groupPriorities: Readonly<Record<string, number>> = {
  '': 18000,
  // Has no APIService of its own; the aggregator puts it first.
  'apiregistration.k8s.io': 20000,
  apps: 17800,
  'events.k8s.io': 17750,
  'authentication.k8s.io': 17700,
  'authorization.k8s.io': 17600,
  autoscaling: 17500,
  batch: 17400,
  'certificates.k8s.io': 17300,
  'networking.k8s.io': 17200,
  policy: 17100,
  'rbac.authorization.k8s.io': 17000,
  'storage.k8s.io': 16800,
  'admissionregistration.k8s.io': 16700,
  'apiextensions.k8s.io': 16700,
  'scheduling.k8s.io': 16600,
  'coordination.k8s.io': 16500,
  'node.k8s.io': 16300,
  'discovery.k8s.io': 16200,
  'resource.k8s.io': 16200,
  'flowcontrol.apiserver.k8s.io': 16100,
  'internal.apiserver.k8s.io': 16000,
};

/** `spec.versionPriority` where it is not 15. */
const versionPriorities: Readonly<Record<string, number>> = {
  v1: 1,
  'authentication.k8s.io/v1alpha1': 1,
  'autoscaling/v2': 30,
  'autoscaling/v2beta2': 1,
  'flowcontrol.apiserver.k8s.io/v1': 21,
  'flowcontrol.apiserver.k8s.io/v1beta3': 18,
  'flowcontrol.apiserver.k8s.io/v1beta1': 12,
  'internal.apiserver.k8s.io/v1alpha1': 9,
  'resource.k8s.io/v1': 21,
  'storage.k8s.io/v1beta1': 9,
};

export interface Priority {
  readonly group: number;
  readonly version: number;
}

export function priorityOf(group: string, version: string): Priority {
  return {
    group: groupPriorities[group] ?? 1000,
    version: versionPriorities[group === '' ? version : `${group}/${version}`] ?? 15,
  };
}

import { kubernetesVersions } from '../example-api-server/kubernetes-versions.ts';
import { ServedResources, splitGroupVersion } from '../example-api-server/served-resources.ts';
import type { StorageKey } from '../example-api-server/store.ts';

/** Neighbours, as API servers of one cluster have to be (Kubernetes' version skew policy). */
export type UpgradeVersion = '1.35' | '1.36';
export const from: UpgradeVersion = '1.35';
export const to: UpgradeVersion = '1.36';

/** A resource that clients use, in one version of its API. */
export interface UsedResource {
  readonly groupVersion: string;
  readonly resource: string;
  readonly kind: string;
  /** Where its objects are: `/api/v1/namespaces/default/configmaps`. */
  readonly collection: string;
  readonly storage: StorageKey;
}

/** Served by both. */
export const configMaps = usedResource('v1', 'configmaps', 'ConfigMap');
/** 1.36 has removed this version of the group: what clients use that have not been moved to `v1alpha2`. */
export const oldWorkloads = usedResource('scheduling.k8s.io/v1alpha1', 'workloads', 'Workload');
/** 1.36 has added this one. */
export const newPolicies = usedResource(
  'admissionregistration.k8s.io/v1',
  'mutatingadmissionpolicies',
  'MutatingAdmissionPolicy',
  '',
);
/** Served by both, with one field more in 1.36. */
export const pods = usedResource('v1', 'pods', 'Pod');

const served = {
  '1.35': new ServedResources(kubernetesVersions['1.35'].table),
  '1.36': new ServedResources(kubernetesVersions['1.36'].table),
} satisfies Record<UpgradeVersion, ServedResources>;

/** True if servers of the version serve the resource. */
export function serves(version: UpgradeVersion, { groupVersion, resource }: UsedResource): boolean {
  const [group, name] = splitGroupVersion(groupVersion);
  return served[version].find(group, name, resource) !== undefined;
}

/** @param namespace empty: the resource has none */
export function usedResource(
  groupVersion: string,
  resource: string,
  kind: string,
  namespace = 'default',
): UsedResource {
  const [group, version] = splitGroupVersion(groupVersion);
  const prefix = group === '' ? '/api' : `/apis/${group}`;
  const scope = namespace === '' ? '' : `/namespaces/${namespace}`;
  return {
    groupVersion,
    resource,
    kind,
    collection: `${prefix}/${version}${scope}/${resource}`,
    storage: { group, resource },
  };
}

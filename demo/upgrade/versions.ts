import type { SpecFields } from '../example-api-server/served-resources.ts';
import { ServedResources, splitGroupVersion } from '../example-api-server/served-resources.ts';
import type { StorageKey } from '../example-api-server/store.ts';
import { kubernetesVersions } from '../example-api-server/tables/versions.ts';

/** Neighbours, as API servers of one cluster have to be (Kubernetes' version skew policy). */
export type UpgradeVersion = '1.25' | '1.26';
export const from: UpgradeVersion = '1.25';
export const to: UpgradeVersion = '1.26';

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
/** 1.26 has removed this version of the group: what clients use that have not been moved to `autoscaling/v2`. */
export const oldAutoscalers = usedResource(
  'autoscaling/v2beta2',
  'horizontalpodautoscalers',
  'HorizontalPodAutoscaler',
);
/** 1.26 has added this one. */
export const newFlowSchemas = usedResource(
  'flowcontrol.apiserver.k8s.io/v1beta3',
  'flowschemas',
  'FlowSchema',
  '',
);
/** Served by both, with one field more in 1.26. */
export const disruptionBudgets = usedResource('policy/v1', 'poddisruptionbudgets', 'PodDisruptionBudget');

/** `spec.unhealthyPodEvictionPolicy`: alpha in 1.26, and turned on here (KEP-3017). */
export const newField = 'unhealthyPodEvictionPolicy';
const newFields: SpecFields = { 'policy/v1/PodDisruptionBudget': [newField] };

/** What a server of the version knows of the new field. */
export function fieldsOf(version: UpgradeVersion): { addedFields?: SpecFields; unknownFields?: SpecFields } {
  return version === to ? { addedFields: newFields } : { unknownFields: newFields };
}

const served = {
  '1.25': new ServedResources(kubernetesVersions['1.25'].table),
  '1.26': new ServedResources(kubernetesVersions['1.26'].table),
} satisfies Record<UpgradeVersion, ServedResources>;

/** Whether servers of the version serve the resource. */
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

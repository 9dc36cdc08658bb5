import type { KubernetesObject } from '../../../demo/example-api-server/kubernetes-object.ts';
import type { StorageKey } from '../../../demo/example-api-server/store.ts';
import { type UsedResource, usedResource as used } from '../../../demo/upgrade/versions.ts';

export type { UsedResource };

export const configMaps = used('v1', 'configmaps', 'ConfigMap');
export const pods = used('v1', 'pods', 'Pod');
export const deployments = used('apps/v1', 'deployments', 'Deployment');
/** Served until 1.25: what clients use that have not been moved to its successor yet. */
export const oldAutoscalers = used(
  'autoscaling/v2beta2',
  'horizontalpodautoscalers',
  'HorizontalPodAutoscaler',
);
export const autoscalers = used('autoscaling/v2', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler');
/** Served since 1.26: what clients use as soon as discovery has shown it. */
export const newFlowSchemas = used('flowcontrol.apiserver.k8s.io/v1beta3', 'flowschemas', 'FlowSchema', '');

/** Name of the object of each resource that is there all the time. */
export const fixtureName = 'fixture';

/** What has to be in the store before clients come. */
export function fixtures(): readonly { readonly key: StorageKey; readonly object: KubernetesObject }[] {
  return [configMaps, pods, deployments, autoscalers, newFlowSchemas].map(
    ({ groupVersion, kind, storage, collection }) => ({
      key: storage,
      object: {
        apiVersion: groupVersion,
        kind,
        metadata: {
          name: fixtureName,
          ...(collection.includes('/namespaces/') ? { namespace: 'default' } : {}),
        },
        ...(kind === 'Pod' ? { spec: { containers: [{ name: 'main', image: 'example' }] } } : {}),
      },
    }),
  );
}

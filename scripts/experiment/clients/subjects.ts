import type { KubernetesObject } from '../../../demo/example-api-server/kubernetes-object.ts';
import type { StorageKey } from '../../../demo/example-api-server/store.ts';
import { type UsedResource, usedResource as used } from '../../../demo/upgrade/versions.ts';

export type { UsedResource };

export const configMaps = used('v1', 'configmaps', 'ConfigMap');
export const deployments = used('apps/v1', 'deployments', 'Deployment');
/** Name of the object of each resource that is there all the time. */
export const fixtureName = 'fixture';

/** What has to be in the store before clients come. */
export function fixtures(): readonly { readonly key: StorageKey; readonly object: KubernetesObject }[] {
  return [configMaps, deployments].map(({ groupVersion, kind, storage, collection }) => ({
    key: storage,
    object: {
      apiVersion: groupVersion,
      kind,
      metadata: {
        name: fixtureName,
        ...(collection.includes('/namespaces/') ? { namespace: 'default' } : {}),
      },
    },
  }));
}

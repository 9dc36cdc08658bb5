import type { KubernetesVersionName } from '../../../demo/example-api-server/index.ts';
import { groupVersionOf, kubernetesVersions } from '../../../demo/example-api-server/kubernetes-versions.ts';

/** Where one model tells another what it serves. */
export const servedPath = '/experiment/served';

/** Names of resources by group version. */
export type ServedGroupVersions = Readonly<Record<string, readonly string[]>>;

/** What a version of Kubernetes serves. */
export function groupVersionsOf(version: KubernetesVersionName): ServedGroupVersions {
  return Object.fromEntries(
    kubernetesVersions[version].table.map(({ group, version: ofGroup, resources }) => [
      groupVersionOf(group, ofGroup),
      resources.map(({ resource }) => resource),
    ]),
  );
}

/** An APIGroupDiscoveryList of what all of them serve together: as much of it as names what there is. */
export function mergedDiscovery(served: readonly ServedGroupVersions[]): object {
  const groups = new Map<string, Map<string, Set<string>>>();
  for (const [groupVersion, resources] of served.flatMap((one) => Object.entries(one))) {
    const [group, version] = groupVersion.split('/');
    // The group of core is in /api, which is not merged.
    if (group === undefined || version === undefined) continue;
    const versions = groups.get(group) ?? new Map<string, Set<string>>();
    groups.set(group, versions);
    versions.set(version, new Set([...(versions.get(version) ?? []), ...resources]));
  }
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items: [...groups].map(([name, versions]) => ({
      metadata: { name },
      versions: [...versions].map(([version, resources]) => ({
        version,
        freshness: 'Current',
        resources: [...resources].map((resource) => ({ resource })),
      })),
    })),
  };
}

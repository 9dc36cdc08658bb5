import { parseSnapshot } from '../../src/snapshot/format/parse-snapshot.ts';
import { snapshotOf } from './snapshot-builder.ts';

/** A valid snapshot in which every field is used. */
export const fullSnapshot = snapshotOf(
  {
    a: { serves: ['v1/pods', 'v1/pods/log'], version: 'v1.26.15', hostname: 'node-1', serverName: 'fd00::1' },
    b: { serves: ['v1/pods', 'batch/v1/jobs'], url: 'https://peer-b.example.com:6443', stale: true },
    c: {
      serves: ['apps/v1/deployments'],
      withoutAddress: true,
      discovery: [
        {
          metadata: { name: 'apps' },
          versions: [
            {
              version: 'v1',
              freshness: 'Current',
              resources: [
                {
                  resource: 'deployments',
                  responseKind: { group: '', version: '', kind: 'Deployment' },
                  scope: 'Namespaced',
                  singularResource: 'deployment',
                  verbs: ['get', 'list'],
                  shortNames: ['deploy'],
                  categories: ['all'],
                  subresources: [
                    { subresource: 'scale', acceptedTypes: [{ kind: 'Scale' }], verbs: ['get'] },
                  ],
                },
              ],
            },
          ],
        },
        { metadata: {} },
      ],
      storageVersionHashes: { 'apps.deployments': '8aSe+NMegvE=' },
      schemas: { 'apps.deployments': { v1: 'q83vEjRWeJA=' } },
      openapiV3: { 'apis/apps/v1': '/openapi/v3/apis/apps/v1?hash=0123ABCD' },
    },
  },
  {
    cluster: 'production-1',
    apiServices: [
      { group: '', version: 'v1', available: true },
      {
        group: 'metrics.k8s.io',
        version: 'v1beta1',
        service: { namespace: 'kube-system', name: 'metrics-server' },
        available: false,
      },
    ],
    customResourceGroups: [{ group: 'example.com', version: 'v1alpha1' }],
  },
);

/** A copy of `fullSnapshot` in which `value` stands at `path`; `undefined` takes away what stands there. */
export function withChange(path: readonly (string | number)[], value: unknown): unknown {
  const root: unknown = JSON.parse(JSON.stringify(fullSnapshot));
  let place = root as Record<string, unknown>;
  for (const key of path.slice(0, -1)) place = place[key] as Record<string, unknown>;
  const last = path.at(-1) ?? '';
  if (value === undefined) delete place[last];
  else place[last] = value;
  return root;
}

/** The faults of `input`, each as `path: message`. */
export async function issuesOf(input: unknown): Promise<string[]> {
  const result = await parseSnapshot(input);
  return result.ok ? [] : result.issues.map(({ path, message }) => `${path}: ${message}`);
}

import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { type ServerOptions, snapshotOf } from '../../support/snapshots/snapshot-builder.ts';

const everywhere = [
  'v1/pods',
  'v1/pods/log',
  'v1/services',
  'v1/configmaps',
  'apps/v1/deployments',
  'apps/v1/deployments/scale',
  'batch/v1/jobs',
  'batch/v1/cronjobs',
  'rbac.authorization.k8s.io/v1/roles',
];
const older = [...everywhere, 'policy/v1beta1/podsecuritypolicies', 'batch/v1beta1/cronjobs'];
const newer = [...everywhere, 'flowcontrol.apiserver.k8s.io/v1/flowschemas', 'v1/pods/resize'];

const conflicting = (scope: 'Namespaced' | 'Cluster'): NonNullable<ServerOptions['discovery']> => [
  {
    metadata: { name: 'apps' },
    versions: [
      {
        version: 'v1',
        resources: [
          {
            resource: 'deployments',
            responseKind: { group: '', version: '', kind: 'Deployment' },
            scope,
            singularResource: 'deployment',
            verbs: ['get'],
          },
        ],
      },
    ],
  },
];

/** Where the servers of a test listen; port 1 has nobody. */
export interface Ports {
  readonly local: number;
}

/** Three control planes, the last of which is upgraded already. */
export function threeServers({ local }: Ports, generation = 7): Snapshot {
  return snapshotOf(
    {
      'cp-a': {
        serves: older,
        version: 'v1.25.16',
        hostname: 'control-plane-1',
        address: `127.0.0.1:${local}`,
        discovery: conflicting('Namespaced'),
      },
      'cp-b': {
        serves: older,
        version: 'v1.25.16',
        hostname: 'control-plane-2',
        address: `127.0.0.1:${local}`,
        discovery: conflicting('Namespaced'),
      },
      'cp-c': {
        serves: newer,
        version: 'v1.36.0',
        hostname: 'control-plane-3',
        address: `127.0.0.1:${local}`,
        discovery: conflicting('Cluster'),
      },
    },
    {
      generation,
      cluster: 'production-eu-1',
      apiServices: [
        {
          group: 'metrics.k8s.io',
          version: 'v1beta1',
          service: { namespace: 'kube-system', name: 'metrics-server' },
          available: true,
        },
      ],
    },
  );
}

/** The same cluster with its upgrade done. */
export function upgradedServers({ local }: Ports, generation = 8): Snapshot {
  const server = (number: number): ServerOptions => ({
    serves: newer,
    version: 'v1.36.0',
    hostname: `control-plane-${number}`,
    address: `127.0.0.1:${local}`,
  });
  return snapshotOf(
    { 'cp-a': server(1), 'cp-b': server(2), 'cp-c': server(3) },
    { generation, cluster: 'production-eu-1' },
  );
}

/** Fifty servers of four versions, 400 resources, one server that could not be read and one without an address. */
export function fiftyServers({ local }: Ports, generation = 7): Snapshot {
  const common = Array.from(
    { length: 360 },
    (_, index) => `group-${index % 24}.example.com/v1/things${index}`,
  );
  const ofVersion = (version: number) => [
    ...everywhere,
    ...common,
    ...Array.from({ length: 10 }, (_, index) => `group-${index}.example.com/v${version}/widgets${index}`),
  ];
  const sets = [ofVersion(1), ofVersion(2), ofVersion(3), ofVersion(4)];
  const versions = ['v1.33.9', 'v1.34.5', 'v1.35.2', 'v1.36.0'];
  const servers = Array.from({ length: 50 }, (_, index): [string, ServerOptions] => {
    const kind = index < 3 ? 0 : index < 20 ? 1 : index < 45 ? 2 : 3;
    const id = index === 0 ? 'cp-a' : `apiserver-${String(index).padStart(2, '0')}kz3fqlmdnv4tkoqu7u6a`;
    return [
      id,
      {
        serves: sets[kind] ?? [],
        version: versions[kind] ?? '',
        hostname: `control-plane-${index + 1}.eu-central.example.com`,
        ...(index === 7 ? { withoutAddress: true } : { address: `127.0.0.1:${index === 9 ? 1 : local}` }),
        ...(index === 12 ? { stale: true } : {}),
      },
    ];
  });
  return snapshotOf(Object.fromEntries(servers), { generation, cluster: 'production-eu-1' });
}

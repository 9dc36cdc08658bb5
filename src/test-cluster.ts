import { storageVersionName } from './apimachinery/group-version.ts';
import { createApp } from './app.ts';
import type { Destination } from './request/destination.ts';
import { type OutboundRequest, passedOnResponse, type Transport } from './request/transport.ts';
import type { ServedSet } from './snapshot/format/schema.ts';
import { buildRoutingTable } from './snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from './snapshot/routing-table/routing-table.ts';

export interface TestClusterOptions {
  /** What the server of the old version serves, as it stands in paths: `v1/pods`, `batch/v1/jobs`. */
  readonly old: readonly string[];
  readonly new: readonly string[];
  /** `host:port` of the new server, for who reaches it. Default: one that nobody has. */
  readonly newAddress?: string;
  /** What a server responds. Default: `{ "answeredBy": "old" }`, or `"new"`. */
  readonly respond?: (server: 'old' | 'new', request: OutboundRequest) => Response;
}

export interface TestCluster {
  /** A router in front of the old server: without socket, and without a clock that runs. */
  readonly app: ReturnType<typeof createApp>;
  /** What it sent, and to whom, in order. */
  readonly asked: readonly OutboundRequest[];
  readonly table: RoutingTable;
  /** The old server, as options of `createApp` and `mixedVersionProxy` have it. */
  readonly local: Destination;
}

/**
 * Two API servers of neighbouring versions, for tests.
 *
 * @example
 * ```ts
 * const { app } = testCluster({ old: ['batch/v1/jobs'], new: ['batch/v1/jobs', 'batch/v1/cronjobs'] });
 * const response = await app.fetch(new Request('https://router.example/apis/batch/v1/cronjobs'));
 * console.log(await response.json()); // { answeredBy: 'new' }
 * ```
 */
export function testCluster(options: TestClusterOptions): TestCluster {
  const { newAddress = '10.0.0.2:6443' } = options;
  const { respond = (answeredBy) => Response.json({ answeredBy }) } = options;
  const asked: OutboundRequest[] = [];
  const transport: Transport = {
    send: async (outbound) => {
      asked.push(outbound);
      return passedOnResponse(respond(outbound.destination.id === 'new' ? 'new' : 'old', outbound));
    },
  };
  const table = buildRoutingTable({
    apiVersion: 'mixed-version-proxy/v1alpha1',
    kind: 'StorageVersionSnapshot',
    metadata: { generation: 1, createdAt: new Date(0).toISOString(), source: 'discovery' },
    servers: [
      { id: 'old', address: '10.0.0.1:6443', version: 'v1.35.0', serves: 'old' },
      { id: 'new', address: newAddress, version: 'v1.36.0', serves: 'new' },
    ],
    servedSets: { old: servedSet(options.old), new: servedSet(options.new) },
    apiServices: [],
    customResourceGroups: [],
  });
  const local: Destination = {
    kind: 'local',
    id: 'old',
    origin: 'https://10.0.0.1:6443',
    serverName: 'kubernetes.default.svc',
    trust: { kind: 'peer-ca' },
  };
  const app = createApp({
    local,
    routingTable: { current: () => table },
    transport,
    clock: () => 0,
    random: () => 0,
  });
  return { app, asked, table, local };
}

/** Equal digests: both versions understand alike what both serve. */
const digest = `sha256:${'0'.repeat(64)}`;

function servedSet(paths: readonly string[]): ServedSet {
  const places = paths.map((path) => {
    const [resource = '', version = '', group = ''] = path.split('/').reverse();
    return { name: storageVersionName(group, resource), version };
  });
  const byName = [...Map.groupBy(places, ({ name }) => name)];
  return {
    storageVersions: Object.fromEntries(
      byName.map(([name, all]) => [name, all.map(({ version }) => version)]),
    ),
    schemas: Object.fromEntries(
      byName.map(([name, all]) => [name, Object.fromEntries(all.map(({ version }) => [version, digest]))]),
    ),
  };
}

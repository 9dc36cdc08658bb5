import type { Decision, DecisionReason } from '../../../src/routing/decision.ts';
import type { Snapshot, SnapshotApiService } from '../../../src/snapshot/format/schema.ts';
import { snapshotOf } from '../snapshots/snapshot-builder.ts';

/** ID of the local API server in every row. */
export const localId = 'local';

/** One row of the design's list of decisions, as a request and what has to become of it. */
export interface DecisionRow {
  /** Number of the rule, and what the row shows of it. */
  readonly name: string;
  readonly method?: string;
  readonly target: string;
  /** Left out: the mixed cluster below. `none`: there has been no snapshot. */
  readonly snapshot?: Snapshot | 'none';
  /** The request carries the reroute mark: from a verified peer, or from anyone. */
  readonly mark?: 'verified-peer' | 'anyone';
  readonly decision: Decision['decision'];
  readonly reason: DecisionReason;
  /** IDs of the candidates. */
  readonly candidates?: readonly string[];
  /** Status that a client sees where every server answers 404; default 404. */
  readonly status?: number;
}

const apiServices: SnapshotApiService[] = [
  {
    group: 'metrics.k8s.io',
    version: 'v1beta1',
    service: { namespace: 'kube-system', name: 'metrics-server' },
    available: true,
  },
  {
    group: 'broken.example.com',
    version: 'v1',
    service: { namespace: 'default', name: 'broken' },
    available: false,
  },
];

/** `batch/v1` `jobs` in a document of aggregated discovery. */
export const jobsDiscovery = {
  resource: 'jobs',
  responseKind: { group: '', version: '', kind: 'Job' },
  scope: 'Namespaced',
  singularResource: 'job',
  verbs: ['get', 'list'],
} as const;

/** Addresses (`host:port`) by server ID. */
type ClusterAddresses = Readonly<Record<string, string>>;

/** The local server, peers that serve more, and one server that cannot be reached. */
export function mixedClusterAt(addresses: ClusterAddresses): Snapshot {
  const at = (id: string) => (addresses[id] === undefined ? {} : { address: addresses[id] });
  return snapshotOf(
    {
      [localId]: {
        ...at(localId),
        serves: [
          'v1/pods',
          'v1/pods/log',
          'v1/namespaces',
          'apps/v1/deployments',
          'apps/v1/deployments/scale',
        ],
        openapiV3: { 'api/v1': '/openapi/v3/api/v1?hash=C0' },
        discovery: [],
      },
      'peer-1': {
        ...at('peer-1'),
        serves: ['v1/pods', 'v1/pods/log', 'v1/pods/resize', 'batch/v1/jobs', 'batch/v1/jobs/status'],
        openapiV3: {
          'api/v1': '/openapi/v3/api/v1?hash=C1',
          'apis/batch/v1': '/openapi/v3/apis/batch/v1?hash=B1',
        },
        discovery: [
          { metadata: { name: 'batch' }, versions: [{ version: 'v1', resources: [jobsDiscovery] }] },
        ],
      },
      'peer-2': { ...at('peer-2'), serves: ['v1/pods', 'batch/v1/jobs'], knowsSubresources: true },
      // The set of peer-3 says nothing of subresources.
      'peer-3': { ...at('peer-3'), serves: ['policy/v1/poddisruptionbudgets'] },
      lost: { serves: ['v1/pods/log', 'node.k8s.io/v1/runtimeclasses'], withoutAddress: true },
      // At an address that is somebody else's by now.
      departed: {
        ...at('peer-1'),
        serves: ['v1/pods/log', 'scheduling.k8s.io/v1/priorityclasses'],
        stale: true,
        departedAt: '2026-01-31T12:00:00Z',
      },
    },
    {
      apiServices,
      customResourceGroups: [{ group: 'example.com', version: 'v1' }],
    },
  );
}

/** The same at addresses that nobody has. */
export const mixedCluster: Snapshot = mixedClusterAt({});

const jobs = '/apis/batch/v1/namespaces/default/jobs';

/** Every rule of the decision list, in order, with the cases in which it must not match. */
export const decisionRows: readonly DecisionRow[] = [
  { name: '1 health is no resource', target: '/version', decision: 'local', reason: 'NotAResourceRequest' },
  {
    name: '1 a short path is no resource',
    target: '/apps/v1/deployments',
    decision: 'local',
    reason: 'NotAResourceRequest',
  },
  {
    name: '1 discovery is merged',
    target: '/apis/batch',
    decision: 'local',
    reason: 'MergedDocument',
    status: 200,
  },
  {
    name: '1 discovery without a snapshot is the local server’s, whose 404 is no proof',
    target: '/apis/batch',
    snapshot: 'none',
    decision: 'local',
    reason: 'NoSnapshot',
    status: 503,
  },
  {
    name: '1 a verified peer that asks for discovery gets the local view',
    target: '/apis/batch',
    mark: 'verified-peer',
    decision: 'local',
    reason: 'AlreadyRerouted',
  },
  {
    name: '1 an OpenAPI document comes from a server that holds it',
    target: '/openapi/v3/apis/batch/v1?hash=B1',
    decision: 'peer',
    reason: 'MergedDocument',
    candidates: ['peer-1'],
  },
  {
    name: '1 an OpenAPI document that the local server holds too, in another version',
    target: '/openapi/v3/api/v1?hash=C1',
    decision: 'peer',
    reason: 'MergedDocument',
    candidates: ['peer-1'],
  },
  {
    name: '2 a request that a verified peer has rerouted never makes a second hop',
    target: jobs,
    mark: 'verified-peer',
    decision: 'local',
    reason: 'AlreadyRerouted',
  },
  {
    name: '2 the mark of anyone else does not count',
    target: jobs,
    mark: 'anyone',
    decision: 'peer',
    reason: 'ServedByPeer',
    candidates: ['peer-1', 'peer-2'],
  },
  {
    name: '3 no snapshot: a local 404 is no proof',
    target: jobs,
    snapshot: 'none',
    decision: 'local',
    reason: 'NoSnapshot',
    status: 503,
  },
  {
    name: '4 the local server serves it, whoever else does',
    target: '/api/v1/namespaces/default/pods',
    decision: 'local',
    reason: 'ServedLocally',
  },
  {
    name: '4 the local server serves the subresource',
    target: '/api/v1/namespaces/default/pods/web/log',
    decision: 'local',
    reason: 'ServedLocally',
  },
  {
    name: '5 an extension API server, through the local aggregator',
    target: '/apis/metrics.k8s.io/v1beta1/nodes',
    decision: 'local',
    reason: 'ExtensionAPIServer',
  },
  {
    name: '5 an extension API server that is not available, which the aggregator says itself',
    target: '/apis/broken.example.com/v1/things',
    decision: 'local',
    reason: 'ExtensionAPIServer',
  },
  {
    name: '6 custom resources are everybody’s',
    target: '/apis/example.com/v1/namespaces/default/widgets/w',
    decision: 'local',
    reason: 'CustomResource',
  },
  {
    name: '7 peers serve it',
    target: jobs,
    decision: 'peer',
    reason: 'ServedByPeer',
    candidates: ['peer-1', 'peer-2'],
  },
  {
    name: '7 all serve the resource, one serves the subresource',
    method: 'PATCH',
    target: '/api/v1/namespaces/default/pods/web/resize',
    decision: 'peer',
    reason: 'ServedByPeer',
    candidates: ['peer-1'],
  },
  {
    name: '7 a server that knows nothing of subresources is taken to serve them',
    target: '/apis/policy/v1/namespaces/default/poddisruptionbudgets/web/status',
    decision: 'peer',
    reason: 'ServedByPeer',
    candidates: ['peer-3'],
  },
  {
    name: '8 a peer serves it and has no address',
    target: '/apis/node.k8s.io/v1/runtimeclasses',
    decision: 'unavailable',
    reason: 'PeerAddressUnknown',
    status: 503,
  },
  {
    name: '8 only a server that has left and may come back serves it',
    target: '/apis/scheduling.k8s.io/v1/priorityclasses',
    decision: 'unavailable',
    reason: 'ServerDeparted',
    status: 503,
  },
  {
    name: '9 nobody serves the resource',
    target: '/apis/nosuch.example.com/v1/things',
    decision: 'local',
    reason: 'NotServedByAnyServer',
  },
  {
    name: '9 nobody serves the version',
    target: '/apis/batch/v2/namespaces/default/jobs',
    decision: 'local',
    reason: 'NotServedByAnyServer',
  },
];

import type { Snapshot } from '../snapshot/format/schema.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { type ServedMatrix, servedMatrix } from './served-matrix.ts';
import { type ServerColumn, serverColumns } from './server-columns.ts';
import type { Hostnames } from './wording/display-names.ts';

export interface ClusterView {
  readonly columns: readonly ServerColumn[];
  readonly matrix: ServedMatrix;
  readonly upgrade: UpgradeState;
  /** By server ID, where the snapshot has them: what people call a server whose ID is a hash. */
  readonly hostnames: Hostnames;
}

/** Made once for each snapshot: every open page asks every two seconds, on the thread that forwards requests. */
const made = new WeakMap<Snapshot, ClusterView>();

export function clusterView(table: RoutingTable | undefined): ClusterView {
  if (table === undefined) return viewOf([], []);
  const known = made.get(table.snapshot);
  if (known !== undefined) return known;
  const view = viewOf(serverColumns(table), table.snapshot.servers);
  made.set(table.snapshot, view);
  return view;
}

function viewOf(columns: readonly ServerColumn[], servers: Snapshot['servers']): ClusterView {
  return {
    columns,
    matrix: servedMatrix(columns),
    upgrade: upgradeState(columns),
    hostnames: new Map(
      servers.flatMap(({ id, hostname }) => (hostname === undefined ? [] : [[id, hostname]])),
    ),
  };
}

interface VersionShare {
  /** `undefined`: not known. */
  readonly version: string | undefined;
  readonly servers: number;
}

/**
 * - `uniform`: one version, and all servers serve the same.
 * - `differing`: one version, but what is served differs: feature gates or `--runtime-config`.
 * - `mixed`: several versions.
 * - `unknown`: one version at most is known, and that of some server is not.
 */
type UpgradeStateName = 'uniform' | 'differing' | 'mixed' | 'unknown';

/** Of the servers that are there: those that have left run no version. */
export interface UpgradeState {
  readonly state: UpgradeStateName;
  /** The oldest first. */
  readonly shares: readonly VersionShare[];
  readonly servers: number;
  /** Servers that have left and may come back. */
  readonly departed: number;
}

/** Whether an upgrade is in progress, as far as versions and served sets tell. Pure. */
function upgradeState(columns: readonly ServerColumn[]): UpgradeState {
  const servers = columns.flatMap((column) => column.servers);
  const present = columns
    .map(({ version, servers: those }) => ({ version, servers: those.filter(({ departed }) => !departed) }))
    .filter(({ servers: those }) => those.length > 0);
  const shares = [...Map.groupBy(present, ({ version }) => version)].map(([version, group]) => ({
    version,
    servers: group.reduce((sum, { servers: those }) => sum + those.length, 0),
  }));
  const there = shares.reduce((sum, share) => sum + share.servers, 0);
  return {
    state: stateOf(shares, present.length),
    shares,
    servers: there,
    departed: servers.length - there,
  };
}

/** A version that is not known is no other version: it may well be the same. */
function stateOf(shares: readonly VersionShare[], columns: number): UpgradeStateName {
  const known = shares.filter(({ version }) => version !== undefined).length;
  if (known > 1) return 'mixed';
  if (known < shares.length) return 'unknown';
  return columns > 1 ? 'differing' : 'uniform';
}

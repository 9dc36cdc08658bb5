import type { Snapshot } from '../snapshot/format/types.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { type ServedMatrix, servedMatrix } from './served-matrix.ts';
import { type ServerColumn, serverColumns } from './server-columns.ts';
import { type UpgradeState, upgradeState } from './upgrade-state.ts';

/** What a snapshot says of who serves what. */
export interface ClusterView {
  readonly columns: readonly ServerColumn[];
  readonly matrix: ServedMatrix;
  readonly upgrade: UpgradeState;
  /** By server ID, where the snapshot has them: what people call a server whose ID is a hash. */
  readonly hostnames: ReadonlyMap<string, string>;
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

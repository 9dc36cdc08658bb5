import type { ServerHealth } from '../health/server-health.ts';
import { buildRoutingTable, notReadIn } from '../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';

const known = new WeakMap<
  RoutingTable,
  { readonly notKnown: ReturnType<ServerHealth['notKnown']>; readonly table: RoutingTable }
>();

/**
 * The table with what this router has found of the servers itself: one that it has lost is not known in it, whatever the
 * snapshot says of the process before, until it has been verified; one that it has verified is. Servers that are not
 * probed are as the snapshot has them. The same table for the same servers: nothing is made on the request path.
 */
export function tableOfKnownServers(
  table: RoutingTable | undefined,
  health: Pick<ServerHealth, 'notKnown' | 'isVerified'> | undefined,
): RoutingTable | undefined {
  if (table === undefined || health === undefined) return table;
  const notKnown = health.notKnown();
  // Nearly always.
  if (notKnown.size === 0 && table.isEveryServerKnown) return table;
  const last = known.get(table);
  if (last?.notKnown === notKnown) return last.table;
  const unread = [...notReadIn(table.snapshot)].filter(([id]) => !health.isVerified(id));
  const made = Object.freeze({
    ...table,
    ...serversOf(buildRoutingTable(table.snapshot, new Map([...unread, ...notKnown]))),
  });
  known.set(table, { notKnown, table: made });
  return made;
}

/** Without what a renewal or a preferred version has added to the table. */
function serversOf({ createdAt: _createdAt, leadingMinor: _leadingMinor, ...servers }: RoutingTable) {
  return servers;
}

import { compareServerVersions } from '../apimachinery/server-version.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import type { RoutingServer, RoutingTable } from '../snapshot/routing-table/routing-table.ts';

/** Servers of one version that serve the same: one column, however many they are. */
export interface ServerColumn {
  /** As the snapshot has it; `undefined`: not known. */
  readonly version: string | undefined;
  readonly set: ServedSet;
  /** In the order of their IDs. At least one. */
  readonly servers: readonly RoutingServer[];
}

/** The servers of a table by what they serve, the oldest version first, as an upgrade goes. Pure. */
export function serverColumns(table: RoutingTable): readonly ServerColumn[] {
  const { servers: listed, servedSets } = table.snapshot;
  const serves = new Map(listed.map((server) => [server.id, server.serves]));
  const sets = new Map(Object.entries(servedSets));
  const columns = new Map<
    string,
    { version: string | undefined; set: ServedSet; servers: RoutingServer[] }
  >();
  for (const server of table.servers) {
    const setName = serves.get(server.id);
    const set = setName === undefined ? undefined : sets.get(setName);
    if (set === undefined) continue;
    const key = JSON.stringify([server.version, setName]);
    const column = columns.get(key) ?? { version: server.version, set, servers: [] };
    column.servers.push(server);
    columns.set(key, column);
  }
  return [...columns.values()].sort(
    (left, right) =>
      compareServerVersions(left.version, right.version) ||
      right.servers.length - left.servers.length ||
      ((left.servers[0]?.id ?? '') < (right.servers[0]?.id ?? '') ? -1 : 1),
  );
}

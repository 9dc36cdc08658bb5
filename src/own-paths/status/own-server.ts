import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { FoundSetting } from './setting-change.ts';

/** IDs in one warning at most. */
const namedIds = 10;

/** Whether a snapshot is of other servers than the local one. Pure. */
export function lacksOwnServer(table: RoutingTable, serverId: string | undefined): boolean {
  return serverId !== undefined && table.server(serverId) === undefined;
}

/** With a wrong ID everything works, but requests that the local server could serve may go to a peer. Pure. */
export function ownServerWarnings(
  table: RoutingTable | undefined,
  serverId: string | undefined,
): readonly string[] {
  if (table === undefined || !lacksOwnServer(table, serverId)) return [];
  // In quotes: where servers are shown by their host names, these stay IDs.
  const ids = table.servers.map(({ id }) => JSON.stringify(id));
  const known = [...ids.slice(0, namedIds), ...(ids.length > namedIds ? ['…'] : [])].join(', ');
  return [`the snapshot has no server ${serverId}: compare --server-id with those that it has (${known})`];
}

/** What was found, with the ID that the snapshot in use has the local server under. Pure. */
export function foundInUse(
  found: readonly FoundSetting[],
  serverId: string | undefined,
): readonly FoundSetting[] {
  return found.map((setting) => {
    const { flag, value, source } = setting;
    if (flag !== '--server-id' || serverId === undefined || serverId === value) return setting;
    const now = `the snapshot, which has this ID at an address of the local server; at the start ${value}: ${source}`;
    return { flag, value: serverId, source: now };
  });
}

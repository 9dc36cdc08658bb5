import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

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
  const ids = table.servers.map(({ id }) => id);
  const known = [...ids.slice(0, namedIds), ...(ids.length > namedIds ? ['…'] : [])].join(', ');
  return [`the snapshot has no server ${serverId}: compare --server-id with those that it has (${known})`];
}

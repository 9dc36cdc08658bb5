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
  // In quotes: where servers are shown by their host names, these stay IDs.
  const ids = table.servers.map(({ id }) => JSON.stringify(id));
  const known = [...ids.slice(0, namedIds), ...(ids.length > namedIds ? ['…'] : [])].join(', ');
  return [`the snapshot has no server ${serverId}: compare --server-id with those that it has (${known})`];
}

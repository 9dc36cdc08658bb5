import type { Logger } from '../../runtime/logger.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** IDs in one log line at most. */
const namedIds = 10;

/**
 * Warns if a routing table does not have the router's own local server. With a wrong `--server-id` everything works, but
 * requests that the local server could serve may go to a peer.
 * @returns a function to call with each new table; warns once, and again when the servers change
 */
export function ownServerCheck(serverId: string, logger: Logger): (table: RoutingTable) => void {
  let warnedOf: string | undefined;
  return (table) => {
    if (table.server(serverId) !== undefined) {
      if (warnedOf !== undefined) logger.info({ serverId }, 'The snapshot has the local server now');
      warnedOf = undefined;
      return;
    }
    const ids = table.servers.map(({ id }) => id);
    const situation = JSON.stringify(ids);
    if (situation === warnedOf) return;
    warnedOf = situation;
    logger.warn(
      { serverId, servers: ids.length, serverIds: ids.slice(0, namedIds) },
      'The snapshot has no server with the ID of the local one: compare --server-id with the IDs that the snapshot has',
    );
  };
}

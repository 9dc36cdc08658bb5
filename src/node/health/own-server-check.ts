import type { Logger } from '../../runtime/logger.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** IDs that one line of the log names. */
const namedIds = 10;

/**
 * Warns when a table does not have the server that the router stands before. With a wrong `--server-id` everything
 * works, except that what the local server serves may go to a peer.
 * @returns to be called with each table that is put in use; warns once, and again when the servers are others.
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

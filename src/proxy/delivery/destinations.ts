import type { Destination } from '../../request/destination.ts';
import type { RoutingServer, RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** A peer as a destination; `undefined` when it has no address. */
export function peerDestination(server: RoutingServer): Destination | undefined {
  if (server.origin === undefined) return undefined;
  return {
    kind: 'peer',
    id: server.id,
    origin: server.origin,
    serverName: server.serverName,
    trust: { kind: 'peer-ca' },
  };
}

/** Everywhere this router may still send to. */
export function destinationsOf(local: Destination | undefined, table: RoutingTable): readonly Destination[] {
  return [...(local === undefined ? [] : [local]), ...remoteDestinations(table)];
}

function remoteDestinations(table: RoutingTable): readonly Destination[] {
  return table.servers.flatMap((server) => peerDestination(server) ?? []);
}

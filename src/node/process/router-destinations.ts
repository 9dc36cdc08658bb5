import { extensionDestination, peerDestination } from '../../proxy/delivery/destinations.ts';
import type { Destination } from '../../request/destination.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import type { LiveCredentials } from '../reload/live-credentials.ts';

/** `undefined` in the gateway form. */
export function localDestination(
  { serverId, local }: ServeConfig,
  credentials: LiveCredentials,
): Destination | undefined {
  if (serverId === undefined || local === undefined) return undefined;
  return {
    kind: 'local',
    id: serverId,
    origin: local.origin,
    serverName: local.serverName,
    // Asked anew for each request: its authority can change.
    get trust() {
      return credentials.localTrust();
    },
  };
}

/** Everywhere this router may still send to. */
export function destinationsOf(local: Destination | undefined, table: RoutingTable): readonly Destination[] {
  return [...(local === undefined ? [] : [local]), ...remoteDestinations(table)];
}

export function remoteDestinations(table: RoutingTable): readonly Destination[] {
  return [
    ...table.servers.flatMap((server) => peerDestination(server) ?? []),
    ...table.snapshot.apiServices.flatMap((apiService) => extensionDestination(apiService) ?? []),
  ];
}

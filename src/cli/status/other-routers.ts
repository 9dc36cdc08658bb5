import { joinHostPort, parseHostPort } from '../../snapshot/addresses/host-port.ts';
import type { RoutingServer, RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** A server beside the local one, and where its router is to be asked. */
export interface OtherRouter {
  readonly server: RoutingServer;
  /** `https://host:port`; `undefined`: nobody says, and nothing allows to conclude it. */
  readonly origin: string | undefined;
}

/**
 * The routers of all servers but the local one. Where a router advertises its address, the snapshot has it. Otherwise a
 * sidecar takes it that others listen where it does itself: on its own port, at the host of their server. That says
 * nothing of a host with several servers, of which one may be the local one. Pure.
 *
 * @param own `host:port` of this router; `undefined` for a gateway, and where it is not known
 */
export function otherRouters(
  table: RoutingTable | undefined,
  serverId: string | undefined,
  own: string | undefined,
): readonly OtherRouter[] {
  if (table === undefined) return [];
  const servers = table.servers.map((server) => ({ server, host: hostOf(server.origin) }));
  const byHost = Map.groupBy(servers, ({ host }) => host);
  const ownPort = own === undefined ? undefined : portOf(own);
  return servers
    .filter(({ server }) => server.id !== serverId)
    .map(({ server, host }) => {
      if (server.addressSource === 'advertised') return { server, origin: server.origin };
      const isAlone = host !== undefined && byHost.get(host)?.length === 1;
      const origin = isAlone && ownPort !== undefined ? `https://${joinHostPort(host, ownPort)}` : undefined;
      return { server, origin };
    });
}

function hostOf(origin: string | undefined): string | undefined {
  const parsed = origin === undefined ? undefined : parseHostPort(origin.replace('https://', ''));
  return parsed?.ok === true ? parsed.value.host : undefined;
}

function portOf(address: string): number | undefined {
  const parsed = parseHostPort(address);
  return parsed.ok ? parsed.value.port : undefined;
}

import type { RouterStatus } from '../../own-paths/status/status-schema.ts';
import { CommandFailure } from '../terminal/command-context.ts';
import { readStatus } from './ask-router.ts';
import type { RouterConnection } from './router-connection.ts';
import type { RouterOfServer, RoutersView } from './routers-view.ts';

type ReadRouters = Pick<RoutersView, 'routers' | 'notAsked'>;

/** Asks each router. Where one does not tell, the reason is part of what is returned. */
export async function readRouters(connections: readonly RouterConnection[]): Promise<ReadRouters> {
  const routers = await Promise.all(connections.map((connection) => readOne(connection)));
  return { routers, notAsked: [] };
}

/** @param serverId of the server that it is to stand before. Default: any */
async function readOne(connection: RouterConnection, serverId?: string): Promise<RouterOfServer> {
  const { origin: server } = connection;
  try {
    const status = await readStatus(connection);
    if (serverId === undefined || status.serverId === serverId) {
      return { server, serverId: status.serverId, error: null, status };
    }
    const whose = status.serverId === null ? 'a gateway' : `the router of ${status.serverId}`;
    return { server, serverId, error: `${server} is ${whose}`, status: null };
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return { server, serverId: serverId ?? null, error: error.lines.join('; '), status: null };
  }
}

/**
 * A router says where the others are. Each is asked itself, with the same credentials and its certificate
 * checked in the same way. The router itself stands first.
 */
export async function readAllRouters(connection: RouterConnection): Promise<ReadRouters> {
  const own = await readOne(connection);
  const { status } = own;
  if (status === null) return { routers: [own], notAsked: [] };
  // Servers behind a gateway need not have routers on its port.
  const others = otherRouters(status, status.serverId === null ? undefined : connection.origin);
  const routers = await Promise.all(
    others.flatMap(({ serverId, origin }) =>
      origin === undefined ? [] : [readOne({ ...connection, origin, from: undefined }, serverId)],
    ),
  );
  const notAsked = others.filter(({ origin }) => origin === undefined).map(({ serverId }) => serverId);
  return { routers: [own, ...routers], notAsked };
}

interface OtherRouter {
  readonly serverId: string;
  /** `https://host:port`; `undefined`: nobody says, and nothing allows to conclude it. */
  readonly origin: string | undefined;
}

/**
 * The routers of all servers but the local one. Where a router advertises its address, it is that of its server. Otherwise a
 * sidecar takes it that others listen where it does itself: on its own port, at the host of their server. That says
 * nothing of a host with several servers, of which one may be the local one. Pure.
 *
 * @param own origin of this router; `undefined` for a gateway
 */
export function otherRouters(
  { serverId, servers }: Pick<RouterStatus, 'serverId' | 'servers'>,
  own: string | undefined,
): readonly OtherRouter[] {
  const byHost = Map.groupBy(servers, ({ address }) => urlOf(address)?.hostname);
  return servers
    .filter(({ id }) => id !== serverId)
    .map(({ id, address, addressSource }) => {
      const { origin, hostname: host } = urlOf(address) ?? {};
      if (addressSource === 'advertised') return { serverId: id, origin };
      // An origin without a port is a load balancer's, not a router's own.
      const port = own === undefined ? '' : new URL(own).port;
      const isKnown = port !== '' && host !== undefined && byHost.get(host)?.length === 1;
      return { serverId: id, origin: isKnown ? `https://${host}:${port}` : undefined };
    });
}

function urlOf(address: string | null): URL | undefined {
  return address === null ? undefined : (URL.parse(`https://${address}`) ?? undefined);
}

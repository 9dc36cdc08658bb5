import { addressOf } from '../../snapshot/addresses/addresses.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { isLocalServerAddress, type LocalServerPlace } from '../serving/local-server-address.ts';

type LocalServerConfig = LocalServerPlace & Pick<ServeConfig, 'serverId'>;

/** The ID of the local server in a snapshot; the configured one where the snapshot does not have the server. */
export function localServerIdOf(config: LocalServerConfig, { snapshot }: RoutingTable): string | undefined {
  const { serverId } = config;
  if (serverId === undefined) return undefined;
  return localServerIdIn(snapshot, serverId, isLocalServerAddress(config)) ?? serverId;
}

interface LocalServerIdOptions {
  readonly config: LocalServerConfig;
  /** What the system chose with `--secure-port=0`; `undefined` until the router listens. */
  readonly listeningPort: () => number | undefined;
  readonly routingTable: { current(): RoutingTable | undefined };
}

/**
 * The ID of the local server as the table in use has it, asked anew each time: with the upgrade to 1.26 a server gets an
 * identity Lease, and with that another name, while the router runs.
 * @returns `undefined` in the gateway form
 */
export function createLocalServerId({
  config,
  listeningPort,
  routingTable,
}: LocalServerIdOptions): (() => string) | undefined {
  const { serverId } = config;
  if (serverId === undefined) return undefined;
  let last: RoutingTable | undefined;
  let id = serverId;
  return () => {
    const table = routingTable.current();
    if (table === undefined || table === last) return id;
    last = table;
    id = localServerIdOf({ ...config, securePort: listeningPort() ?? config.securePort }, table) ?? serverId;
    return id;
  };
}

/**
 * The ID by which a snapshot has the server that a router stands in front of; `undefined` where it does not have it.
 *
 * - The ID that the router was given or has found, where the snapshot has it: an operator's word counts.
 * - Else that of the only server at an address that leads to the local one. A server without an identity Lease is named by
 *   its endpoint until it has one, and a request to that address would come back to this host, or to this router.
 *
 * Where several servers are at such addresses none is taken: one of them may be on another host, whose resources the
 * local server need not have. Pure.
 *
 * @param isLocal whether `host:port` leads to the local server
 */
export function localServerIdIn(
  { servers }: Pick<Snapshot, 'servers'>,
  serverId: string,
  isLocal: (address: string) => boolean,
): string | undefined {
  if (servers.some(({ id }) => id === serverId)) return serverId;
  const [found, ...others] = servers.filter((server) => {
    const address = addressOf(server);
    return address !== undefined && isLocal(address);
  });
  return others.length === 0 ? found?.id : undefined;
}

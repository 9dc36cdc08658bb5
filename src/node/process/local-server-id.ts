import { localServerIdIn } from '../../snapshot/routing-table/local-server.ts';
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

import { addressOf } from '../addresses/host-port.ts';
import type { Snapshot } from '../format/types.ts';

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

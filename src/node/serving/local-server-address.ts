import { parseHostPort, parseHttpsOrigin } from '../../snapshot/addresses/host-port.ts';
import { type IpAddress, parseIpAddress } from '../../snapshot/addresses/ip-address.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { type HostNetwork, isLoopback, isUnspecified, readHostNetwork } from './default-interface.ts';

/** Where a router reaches its local server, and where it listens itself. */
export type LocalServerPlace = Pick<ServeConfig, 'local' | 'bindAddress' | 'securePort'>;

/**
 * Whether an address of an API server, `host:port`, leads to the local one. It does where it is `--local-server`; where it
 * is an address of this host with that port, if `--local-server` is on loopback; and where this router listens: the
 * EndpointSlice of the Service `kubernetes` has one port for all servers, which is the routers' while an installation is
 * under way. Behind address translation nothing is known. Pure.
 */
export function leadsToLocalServer(
  address: string,
  { local, bindAddress, securePort }: LocalServerPlace,
  { addresses }: Pick<HostNetwork, 'addresses'>,
): boolean {
  const [given, origin] = [parseHostPort(address), parseHttpsOrigin(local?.origin ?? '')];
  if (!given.ok || !origin.ok) return false;
  const { host, ip, port } = given.value;
  const isPort = port === origin.value.port;
  if (isPort && (host.toLowerCase() === origin.value.host.toLowerCase() || isSame(ip, origin.value.ip))) {
    return true;
  }
  if (ip === undefined || !addresses.some((each) => isSame(parseIpAddress(each.address), ip))) return false;
  if (isPort && (isLoopback(origin.value.host) || origin.value.host === 'localhost')) return true;
  return port === securePort && (isUnspecified(bindAddress) || isSame(parseIpAddress(bindAddress), ip));
}

/** The same by the addresses that this host has at that moment. */
export function isLocalServerAddress(place: LocalServerPlace): (address: string) => boolean {
  return (address) => leadsToLocalServer(address, place, readHostNetwork());
}

function isSame(one: IpAddress | undefined, other: IpAddress | undefined): boolean {
  return one !== undefined && one.family === other?.family && one.bits === other.bits;
}

import { networkInterfaces } from 'node:os';
import {
  type IpAddress,
  ipAddressKey,
  parseHostPort,
  parseHttpsOrigin,
  parseIpAddress,
} from '../../snapshot/addresses/addresses.ts';
import type { ServeConfig } from '../configuration/serve-config.ts';
import { isLoopback, isUnspecified } from './default-interface.ts';

/** Where a router reaches its local server, and where it listens itself. */
export type LocalServerPlace = Pick<ServeConfig, 'local' | 'bindAddress' | 'securePort'>;

/**
 * Whether an address of an API server, `host:port`, leads to the local one. It does where it is `--local-server`; where it
 * is an address of this host with that port, if `--local-server` is on loopback; and where this router listens: the
 * EndpointSlice of the Service `kubernetes` has one port for all servers, which is the routers' while an installation is
 * under way. Behind address translation nothing is known. Pure.
 * @param isOfHost whether this host has the address
 */
export function leadsToLocalServer(
  address: string,
  { local, bindAddress, securePort }: LocalServerPlace,
  isOfHost: (ip: IpAddress) => boolean,
): boolean {
  const [given, origin] = [parseHostPort(address), parseHttpsOrigin(local?.origin ?? '')];
  if (!given.ok || !origin.ok) return false;
  const { host, ip, port } = given.value;
  const isPort = port === origin.value.port;
  if (isPort && (host.toLowerCase() === origin.value.host.toLowerCase() || isSame(ip, origin.value.ip))) {
    return true;
  }
  if (ip === undefined) return false;
  const isOnLoopback = isLoopback(origin.value.host) || origin.value.host === 'localhost';
  const listens = isUnspecified(bindAddress) || isSame(parseIpAddress(bindAddress), ip);
  return ((isPort && isOnLoopback) || (port === securePort && listens)) && isOfHost(ip);
}

/** Milliseconds for which the addresses of this host are taken for what they were. */
const freshMilliseconds = 1_000;

/** The same by the addresses that this host has at that moment. */
export function isLocalServerAddress(place: LocalServerPlace): (address: string) => boolean {
  let read = { at: Number.NEGATIVE_INFINITY, addresses: new Set<string>() };
  const isOfHost = (ip: IpAddress): boolean => {
    const at = performance.now();
    // With kube-proxy in IPVS mode a host has an address for each Service, and many servers are asked about in turn.
    if (at - read.at >= freshMilliseconds) read = { at, addresses: addressesOfHost() };
    return read.addresses.has(ipAddressKey(ip));
  };
  return (address) => leadsToLocalServer(address, place, isOfHost);
}

function addressesOfHost(): Set<string> {
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return new Set(
    all.flatMap(({ address }) => {
      const ip = parseIpAddress(address);
      return ip === undefined ? [] : [ipAddressKey(ip)];
    }),
  );
}

function isSame(one: IpAddress | undefined, other: IpAddress | undefined): boolean {
  return one !== undefined && other !== undefined && ipAddressKey(one) === ipAddressKey(other);
}

import { isIP } from 'node:net';
import type { AdvertisedServer } from '../../snapshot/addresses/advertised-address.ts';
import { isDns1123Subdomain } from '../../snapshot/addresses/names.ts';
import type { AdvertisedAddress, ServeConfig } from '../configuration/serve-config.ts';
import { chooseHostAddress, type HostNetwork } from '../serving/default-interface.ts';

/** The settings that can name the address, already checked to be IP addresses and ports. */
export interface AddressSettings {
  readonly peerAdvertiseIp: string | undefined;
  readonly peerAdvertisePort: number | undefined;
  readonly advertiseAddress: string | undefined;
  readonly bindAddress: string;
  readonly securePort: number;
}

/**
 * The address that peers should use for this router: `--peer-advertise-ip` and `-port`, else
 * `--advertise-address`, else `--bind-address`, else the host's default interface (seed document, "Configuration
 * for peer API server connectivity"). All but the first go with the serving port. An unspecified address
 * (0.0.0.0, ::) is no address to call and is passed over, as in kube-apiserver.
 *
 * `undefined` when nothing is set and the host has no address that others could use.
 */
export function resolveAdvertisedAddress(
  settings: AddressSettings,
  network: HostNetwork,
): AdvertisedAddress | undefined {
  const { peerAdvertiseIp, peerAdvertisePort, advertiseAddress, bindAddress, securePort: port } = settings;
  if (peerAdvertiseIp !== undefined && peerAdvertisePort !== undefined) {
    return { host: peerAdvertiseIp, port: peerAdvertisePort, source: 'peer-advertise-ip' };
  }
  if (advertiseAddress !== undefined && !isUnspecified(advertiseAddress)) {
    return { host: advertiseAddress, port, source: 'advertise-address' };
  }
  // A loopback address stays, unlike in kube-apiserver: nothing listens on any other one then.
  if (!isUnspecified(bindAddress)) return { host: bindAddress, port, source: 'bind-address' };
  const host = chooseHostAddress(network);
  return host === undefined ? undefined : { host, port, source: 'default-interface' };
}

/**
 * What the router tells the sync job of itself. `undefined`: nothing. A gateway stands in front of no server of its
 * own, and with the feature gate off no router may reroute to it.
 *
 * @param listeningPort what the system chose with `--secure-port=0`; `undefined` until it listens
 */
export function advertisedServer(
  { serverId, advertisedAddress, featureGateEnabled }: ServeConfig,
  listeningPort: number | undefined,
): AdvertisedServer | undefined {
  if (serverId === undefined || advertisedAddress === undefined || !featureGateEnabled) return undefined;
  const { host, source } = advertisedAddress;
  const port = advertisedAddress.port === 0 ? listeningPort : advertisedAddress.port;
  // Only the name of a Lease can be the ID of a server.
  if (port === undefined || !isDns1123Subdomain(serverId)) return undefined;
  return { address: `${host.includes(':') ? `[${host}]` : host}:${port}`, serverId, by: source };
}

/** Whether `address` stands for "all interfaces", however it is written (`::`, `0:0:0:0:0:0:0:0`). */
function isUnspecified(address: string): boolean {
  if (isIP(address) === 4) return address === '0.0.0.0';
  return isIP(address) === 6 && new URL(`http://[${address}]`).hostname === '[::]';
}

import { readFileSync } from 'node:fs';
import { isIPv4, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';
import { isDns1123Subdomain } from '../../apimachinery/names.ts';
import {
  type AdvertisedServer,
  type Cidr,
  cidr,
  contains,
  joinHostPort,
  parseIpAddress,
} from '../../snapshot/addresses/addresses.ts';
import type { RouterSettings } from '../configuration/router-settings.ts';
import type { AdvertisedAddress, Listening, ServeConfig } from '../configuration/serve-config.ts';

interface InterfaceAddress {
  readonly interface: string;
  readonly address: string;
  readonly internal: boolean;
}

export interface HostNetwork {
  readonly addresses: readonly InterfaceAddress[];
  readonly defaultRouteInterfaces: readonly string[];
}

const loopback = ['127.0.0.0/8', '::1/128'].map(cidr);
// Go's net.IP.IsGlobalUnicast: neither unspecified nor loopback, multicast, link-local or broadcast.
const notGlobalUnicast = [
  ...loopback,
  ...[
    '0.0.0.0/32',
    '169.254.0.0/16',
    '224.0.0.0/4',
    '255.255.255.255/32',
    '::/128',
    'fe80::/10',
    'ff00::/8',
  ].map(cidr),
];

const mapped = cidr('::ffff:0:0/96');

function liesIn(address: string, blocks: readonly Cidr[]): boolean {
  const given = parseIpAddress(address);
  if (given === undefined) return false;
  // Only this form is the IPv4 address to the kernel, and to Go (net.IP.To4); packets to 6to4 or NAT64 ones leave the host.
  const isMapped = contains(mapped, given);
  const ip = isMapped ? ({ family: 4, bits: given.bits & 0xffffffffn } as const) : given;
  return blocks.some((block) => contains(block, ip));
}

/** True if other hosts can reach `address`. False for anything but an IP address. */
export function isGlobalUnicast(address: string): boolean {
  return parseIpAddress(address) !== undefined && !liesIn(address, notGlobalUnicast);
}

export function isLoopback(address: string): boolean {
  return liesIn(address, loopback);
}

/**
 * The address of the host's default interface, as Kubernetes finds it (apimachinery pkg/util/net
 * ChooseHostInterface): the first global unicast address of the first interface with a default route, IPv4
 * before IPv6. Without a routing table, the first global unicast address of any interface.
 */
export function chooseHostAddress(network: HostNetwork): string | undefined {
  const usable = network.addresses.filter(({ address, internal }) => !internal && isGlobalUnicast(address));
  for (const isFamily of [isIPv4, isIPv6]) {
    for (const name of network.defaultRouteInterfaces) {
      const found = usable.find((entry) => entry.interface === name && isFamily(entry.address));
      if (found !== undefined) return found.address;
    }
  }
  return (usable.find(({ address }) => isIPv4(address)) ?? usable[0])?.address;
}

/**
 * The interfaces of default routes in `/proc/net/route` and `/proc/net/ipv6_route` (proc_pid_net(5)).
 * @param ipv4Table content of `/proc/net/route`; the first line is a heading
 * @param ipv6Table content of `/proc/net/ipv6_route`; it has no heading
 */
export function defaultRouteInterfaces(ipv4Table: string, ipv6Table: string): string[] {
  const names = new Set<string>();
  for (const line of ipv4Table.split('\n').slice(1)) {
    const [name, destination, , , , , , mask] = line.trim().split(/\s+/);
    if (name !== undefined && destination === '00000000' && mask === '00000000') names.add(name);
  }
  for (const line of ipv6Table.split('\n')) {
    const fields = line.trim().split(/\s+/);
    const name = fields[9];
    // The kernel's own "unreachable" default route names the loopback interface.
    if (name === undefined || name === 'lo') continue;
    if (/^0{32}$/.test(fields[0] ?? '') && fields[1] === '00') names.add(name);
  }
  return [...names];
}

export function readHostNetwork(): HostNetwork {
  const addresses: InterfaceAddress[] = [];
  for (const [name, entries] of Object.entries(networkInterfaces())) {
    for (const { address, internal } of entries ?? []) addresses.push({ interface: name, address, internal });
  }
  return {
    addresses,
    defaultRouteInterfaces: defaultRouteInterfaces(
      readIfPresent('/proc/net/route'),
      readIfPresent('/proc/net/ipv6_route'),
    ),
  };
}

/** Hosts without Linux's /proc have no such file; then only the addresses count. */
function readIfPresent(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

type AddressSettings = Pick<RouterSettings, 'advertise'> & { readonly serving: Listening };

/**
 * The address that peers should use for this router: `--peer-advertise-ip` and `-port`, else
 * `--advertise-address`, else `--bind-address`, else the host's default interface (seed document, "Configuration
 * for peer API server connectivity"). All but the first go with the serving port. An unspecified address
 * (0.0.0.0, ::) is no address to call and is passed over, as in kube-apiserver.
 *
 * `undefined` when nothing is set and the host has no address that others could use.
 */
export function resolveAdvertisedAddress(
  { advertise, serving: { bindAddress, port } }: AddressSettings,
  network: HostNetwork,
): AdvertisedAddress | undefined {
  const { address, peerIP, peerPort } = advertise;
  if (peerIP !== undefined && peerPort !== undefined) {
    return { host: peerIP, port: peerPort, source: 'peer-advertise-ip' };
  }
  if (address !== undefined && !isUnspecified(address)) {
    return { host: address, port, source: 'advertise-address' };
  }
  // A loopback address stays, unlike in kube-apiserver: nothing listens on any other one then.
  if (!isUnspecified(bindAddress)) return { host: bindAddress, port, source: 'bind-address' };
  const host = chooseHostAddress(network);
  return host === undefined ? undefined : { host, port, source: 'default-interface' };
}

/**
 * The router's word on itself to the sync job. `undefined`: nothing. A gateway stands in front of no server of its own,
 * and with the feature gate off no router may reroute to it.
 *
 * @param listeningPort the port that the system chose with `--secure-port=0`; `undefined` until the router listens
 */
export function advertisedServer(
  { serverId, advertisedAddress, featureGateEnabled }: ServeConfig,
  listeningPort: number | undefined,
): AdvertisedServer | undefined {
  if (serverId === undefined || advertisedAddress === undefined || !featureGateEnabled) return undefined;
  const { host, source } = advertisedAddress;
  const port = advertisedAddress.port === 0 ? listeningPort : advertisedAddress.port;
  // Nothing else can be the ID of a server.
  if (port === undefined || !isDns1123Subdomain(serverId)) return undefined;
  return { address: joinHostPort(host, port), serverId, by: source };
}

/** True if `address` stands for "all interfaces", however it is written (`::`, `0:0:0:0:0:0:0:0`). */
export function isUnspecified(address: string): boolean {
  return parseIpAddress(address)?.bits === 0n;
}

import { hostname, networkInterfaces } from 'node:os';
import type { Logger } from '../../runtime/logger.ts';
import {
  addressOf,
  type IpAddress,
  ipAddressKey,
  parseHostPort,
  parseHttpsOrigin,
  parseIpAddress,
} from '../../snapshot/addresses/addresses.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import type { Listening, ServeConfig } from '../configuration/serve-config.ts';
import { isLoopback, isUnspecified } from '../serving/default-interface.ts';

type LocalServerPlace = Pick<ServeConfig, 'local'> & { readonly settings: { readonly serving: Listening } };

/**
 * True if an address of an API server, `host:port`, leads to the local one. The address does where it is
 * `--local-server`; where it is an address of this host with that port, if `--local-server` is on loopback; and where
 * this router listens: the EndpointSlice of the Service `kubernetes` has one port for all servers, which is the
 * routers' while an installation is under way. Behind address translation nothing is known. Pure.
 * @param isOfHost whether this host has the address
 */
export function leadsToLocalServer(
  address: string,
  { local, settings: { serving } }: LocalServerPlace,
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
  const listens = isUnspecified(serving.bindAddress) || isSame(parseIpAddress(serving.bindAddress), ip);
  return ((isPort && isOnLoopback) || (port === serving.port && listens)) && isOfHost(ip);
}

/** Milliseconds for which the addresses of this host are taken for what they were. */
const freshMilliseconds = 1_000;

/** @param interfacesNow those of this host. Default: as the system tells them */
export function isLocalServerAddress(
  place: LocalServerPlace,
  interfacesNow: typeof networkInterfaces = networkInterfaces,
): (address: string) => boolean {
  let read = { at: Number.NEGATIVE_INFINITY, addresses: new Set<string>() };
  const isOfHost = (ip: IpAddress): boolean => {
    const at = performance.now();
    // With kube-proxy in IPVS mode a host has an address for each Service, and many servers are asked about in turn.
    if (at - read.at >= freshMilliseconds) read = { at, addresses: addressesOf(interfacesNow()) };
    return read.addresses.has(ipAddressKey(ip));
  };
  return (address) => leadsToLocalServer(address, place, isOfHost);
}

function addressesOf(interfaces: ReturnType<typeof networkInterfaces>): Set<string> {
  const all = Object.values(interfaces).flatMap((entries) => entries ?? []);
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

type LocalServer = NonNullable<ServeConfig['local']>;
type LocalServerConfig = LocalServerPlace & Pick<ServeConfig, 'serverId'>;

/** This host as the operating system tells it. */
interface Host {
  readonly networkInterfaces?: typeof networkInterfaces | undefined;
  readonly hostname?: typeof hostname | undefined;
}

/** @returns `undefined` where the snapshot does not have it, and in the gateway form */
export function localServerIdOf(
  config: LocalServerConfig,
  { snapshot }: Pick<RoutingTable, 'snapshot'>,
  host: Host = {},
): string | undefined {
  if (config.local === undefined) return undefined;
  const isAt = isLocalServerAddress(config, host.networkInterfaces);
  return localServerIdIn(snapshot, config.serverId, isAt, (host.hostname ?? hostname)());
}

const namedIds = 10;
const noSuchServer =
  'The snapshot has no server with the ID of the local one: compare --server-id with the IDs that the snapshot has (endpoint-…: a server of which only the address is known)';

/**
 * The ID of the local server as the table in use has it. Where it is not given the first table tells it. With the upgrade to
 * 1.26 a server gets an identity Lease, and with that another name, while the router runs.
 *
 * A table without the local server is warned of once, and again when its servers change: everything works, but requests that
 * the local server could serve may go to a peer.
 */
export class LocalServerId {
  readonly #place: LocalServerPlace & { readonly local: LocalServer };
  readonly #logger: Logger;
  readonly #host: Host | undefined;
  /** As it was given. */
  readonly #given: string | undefined;
  #port: number;
  #found: string | undefined;
  /** Servers of the table without the local one that was warned of last. */
  #warnedOf: string | undefined;

  /** @param local has its origin in place of an ID until a table tells that */
  constructor(
    { serverId, local, settings }: LocalServerConfig & { readonly local: LocalServer },
    logger: Logger,
    host?: Host,
  ) {
    this.#place = { local, settings };
    this.#logger = logger;
    this.#host = host;
    this.#given = serverId;
    this.#port = settings.serving.port;
  }

  readonly current = (): string => this.#found ?? this.#given ?? this.#place.local.origin;

  /** @param port what the system chose with `--secure-port=0` */
  listensOn(port: number): void {
    this.#port = port;
  }

  follow(table: RoutingTable): void {
    const { local, settings } = this.#place;
    const serving = { ...settings.serving, port: this.#port };
    const config = { serverId: this.#given ?? this.#found, local, settings: { serving } };
    const found = localServerIdOf(config, table, this.#host);
    const before = this.#found ?? this.#given;
    this.#found = found ?? (this.#given === undefined ? this.#found : undefined);
    if (found === undefined) this.#warnOf(table);
    else this.#tellOf(found, before);
  }

  #tellOf(serverId: string, before: string | undefined): void {
    if (this.#warnedOf === undefined && serverId === before) return;
    this.#warnedOf = undefined;
    const fields = { serverId, ...(before === undefined || before === serverId ? {} : { before }) };
    this.#logger.info(fields, 'The local server is in the snapshot now');
  }

  #warnOf({ servers }: RoutingTable): void {
    const ids = servers.map(({ id }) => id);
    const situation = JSON.stringify(ids);
    if (situation === this.#warnedOf) return;
    this.#warnedOf = situation;
    const fields = { serverId: this.current(), servers: ids.length, serverIds: ids.slice(0, namedIds) };
    this.#logger.warn(fields, noSuchServer);
  }
}

/**
 * The ID by which a snapshot has the server that a router stands in front of; `undefined` where it does not have it.
 *
 * - The ID that the router was given or has found, where the snapshot has it: an operator's word counts.
 * - Else that of the only server at an address that leads to the local one. A server without an identity Lease is named by
 *   its endpoint until it has one, and a request to that address would come back to this host, or to this router.
 * - Else, where no server is at such an address, that of the only server whose identity Lease has the name of this host
 *   (KEP-1965).
 *
 * Of several servers none is taken: one of them may be on another host, whose resources the local server need not have. Pure.
 *
 * @param isLocal whether `host:port` leads to the local server
 * @param hostname as the operating system says it, which is what kube-apiserver writes into its Lease
 */
export function localServerIdIn(
  { servers }: Pick<Snapshot, 'servers'>,
  serverId: string | undefined,
  isLocal: (address: string) => boolean,
  hostname?: string,
): string | undefined {
  if (serverId !== undefined && servers.some(({ id }) => id === serverId)) return serverId;
  const here = servers.filter((server) => {
    const address = addressOf(server);
    return address !== undefined && isLocal(address);
  });
  const ofHost = servers.filter((server) => hostname !== undefined && server.hostname === hostname);
  const [found, ...others] = here.length > 0 ? here : ofHost;
  return others.length === 0 ? found?.id : undefined;
}

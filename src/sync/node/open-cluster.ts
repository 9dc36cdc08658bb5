import type { ClusterAccess } from '../../node/credentials/cluster-access.ts';
import { systemClock } from '../../runtime/time.ts';
import { checkServerAddress, createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import { addressOf } from '../../snapshot/addresses/addresses.ts';
import { placeOf, placeOfServer } from '../documents/endpoints.ts';
import type { ServerDescription } from '../documents/sync-server.ts';
import { type ClusterSource, WatchedCluster } from '../reading/cluster-source.ts';
import { type ApiClient, apiServerName, type Endpoint } from './api-client.ts';
import type { Recording } from './recording.ts';
import { ownCredentials, type SyncCredentials, type SyncOptions } from './sync-options.ts';

type ClusterOptions = Pick<
  SyncOptions,
  'servers' | keyof SyncCredentials | 'credentials' | 'local' | 'previous' | 'timing' | 'clock' | 'peers'
>;

/** Where each API server of a cluster is read, and how it is connected to. */
class ServerEndpoints {
  readonly #given: ClusterOptions;
  readonly #policy;
  readonly #listedPlaces: ReadonlySet<string | undefined>;

  constructor(given: ClusterOptions) {
    this.#given = given;
    this.#policy = createAddressPolicy(given.peers);
    this.#listedPlaces = new Set(given.servers.map(placeOfServer));
  }

  /** @returns `undefined`: its address is not known */
  of(server: ServerDescription): Endpoint | undefined {
    const { id, readFrom, url, address } = server;
    const isListed = this.#isListed(id);
    if (!isListed && this.#isLocal(server)) return this.#given.local;
    const origin = readFrom ?? url ?? (address && `https://${address}`);
    return origin === undefined ? undefined : this.#at(origin, isListed, server.serverName);
  }

  /** @param address that an object of the cluster names */
  found(address: string): Endpoint {
    return this.#at(`https://${address}`, false);
  }

  /** Endpoints of all servers but the local one. */
  others(servers: readonly ServerDescription[]): readonly Endpoint[] {
    return servers.flatMap((server) => {
      const address = this.#isLocal(server) ? undefined : addressOf(server);
      return address === undefined ? [] : this.#at(`https://${address}`, this.#isListed(server.id));
    });
  }

  /** @returns why an address may not be dialled, a sentence without its subject; `undefined`: it may */
  refusal(address: string): string | undefined {
    return this.#listedPlaces.has(placeOf(address)) ? undefined : checkServerAddress(address, this.#policy);
  }

  /** @param isListed the operator has said where the server is: no policy holds for it */
  #at(origin: string, isListed: boolean, serverName = apiServerName): Endpoint {
    return {
      origin,
      serverName,
      certificateAuthorities: () => ownCredentials(this.#given).certificateAuthorities,
      addressPolicy: isListed ? undefined : this.#policy,
    };
  }

  #isListed(id: string): boolean {
    return this.#given.servers.some((server) => server.id === id);
  }

  /**
   * By the ID that it was given, or by its address. Where an ID was given, an endpoint without a Lease is the local server
   * under that ID alone: an endpoint that is gone must not seem to be there because the local server is.
   */
  #isLocal(server: ServerDescription): boolean {
    const { local } = this.#given;
    if (local === undefined) return false;
    const isNamed = local.id === undefined || server.holderIdentity !== undefined;
    const address = isNamed ? addressOf(server) : undefined;
    return server.id === local.id || (address !== undefined && local.isAt?.(address) === true);
  }
}

/** The API servers of a cluster: listed by hand, or found with a kubeconfig, and what they share. */
export function openCluster(
  client: ApiClient,
  given: ClusterOptions,
  access: ClusterAccess | undefined,
  recording?: Recording,
): ClusterSource {
  const { servers: listed, local, previous, timing, clock = systemClock } = given;
  const endpoints = new ServerEndpoints(given);
  let others: readonly Endpoint[] = [];
  const connection = client.watching(() => {
    if (access === undefined) return listed.flatMap((server) => endpoints.of(server) ?? []);
    const named = { origin: access.server, serverName: access.serverName };
    // The kubeconfig's server may be a router.
    return local === undefined ? [named, ...others] : [local, ...others, named];
  });
  return new WatchedCluster({
    connection: recording?.ofCluster(connection) ?? connection,
    documentsOf: (server) => {
      const endpoint = endpoints.of(server);
      if (endpoint === undefined) return undefined;
      const documents = client.documentsAt(endpoint);
      return recording?.ofServer(server.id, documents) ?? documents;
    },
    listed: listed.map((server) => ({ ...server, addressSource: 'listed' })),
    finding: access && {
      servingNames: (address, signal) => client.servingNames(endpoints.found(address), signal),
      refusal: (address) => endpoints.refusal(address),
      previous,
    },
    clock,
    timing,
    onServers: (servers) => {
      others = endpoints.others(servers);
      // A recording is over after a round.
      if (recording === undefined) client.retain(new Set(servers.map(({ documents }) => documents)));
    },
  });
}

import { addressOf } from '../../snapshot/addresses/host-port.ts';
import type { AddressOwners } from './address-owners.ts';
import { endpointServerId, placeOf, placeOfServer } from './api-endpoints.ts';
import type { ClusterInput, FoundServer } from './cluster-input.ts';
import type { IdentityLease, LeaseStanding } from './identity-lease.ts';

/** A server that a Lease or an endpoint names. `firm`: it stays even if it cannot be read. */
export interface NamedServer {
  readonly server: FoundServer;
  readonly firm: boolean;
}

/** Servers that credible Leases name. */
export function leasedServers(
  leases: readonly IdentityLease[],
  standings: ReadonlyMap<string, LeaseStanding>,
  { owners, addresses, sources, listedIds }: AddressOwners,
  before: ReadonlyMap<string, FoundServer>,
  { endpoints, isReadable, hasStorageVersions }: ClusterInput,
): [string, NamedServer][] {
  const endpointPlaces = new Set((endpoints ?? []).map(({ address }) => placeOf(address)));
  return leases.flatMap(({ id, hostname, holderIdentity }) => {
    if (listedIds.has(id)) return [];
    const known = before.get(id);
    const address = addresses.get(id) ?? addressUntilReplaced(known, owners, isReadable);
    // A server without an address cannot be read. It counts if StorageVersions say what it serves.
    if (address === undefined && known === undefined && !hasStorageVersions(id)) return [];
    const isEndpoint = address !== undefined && endpointPlaces.has(placeOf(address));
    const addressSource = sources.get(id) ?? known?.addressSource;
    const server = { id, address, addressSource, hostname: hostname ?? known?.hostname, holderIdentity };
    return [[id, { server, firm: standings.get(id)?.kind === 'held' || isEndpoint }]];
  });
}

/** An address that now belongs to another server stays in use until that one has been read there. */
function addressUntilReplaced(
  known: FoundServer | undefined,
  owners: ReadonlyMap<string, string>,
  isReadable: ClusterInput['isReadable'],
): string | undefined {
  const address = known === undefined ? undefined : addressOf(known);
  const owner = address === undefined ? undefined : owners.get(placeOf(address));
  return owner !== undefined && isReadable(owner) !== true ? address : undefined;
}

/** Servers of which only the endpoint is known. A server that was known before keeps its ID. */
export function endpointServers(
  { endpoints = [], listed }: ClusterInput,
  owners: Map<string, string>,
  before: ReadonlyMap<string, FoundServer>,
): [string, NamedServer][] {
  const listedIds = new Set(listed.map(({ id }) => id));
  const found: [string, NamedServer][] = [];
  for (const { address } of endpoints) {
    const place = placeOf(address);
    if (owners.has(place)) continue;
    const known = [...before.values()].find(
      (server) => placeOfServer(server) === place && !listedIds.has(server.id),
    );
    const server: FoundServer = {
      ...(known ?? { id: endpointServerId(address), address }),
      addressSource: 'endpointslice',
    };
    owners.set(place, server.id);
    found.push([server.id, { server, firm: true }]);
  }
  return found;
}

import type { AddressOwners } from './address-owners.ts';
import { addressOf, endpointServerId, placeOf, placeOfServer } from './api-endpoints.ts';
import type { ClusterInput, FoundServer } from './cluster-input.ts';
import type { IdentityLease } from './identity-lease.ts';
import type { LeaseStanding } from './lease-standing.ts';

/** A server as it is named now, and whether that keeps it when it does not answer. */
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
  { endpoints, answered, hasStorageVersions }: ClusterInput,
): [string, NamedServer][] {
  const endpointPlaces = new Set((endpoints ?? []).map(({ address }) => placeOf(address)));
  return leases.flatMap(({ id, hostname, holderIdentity }) => {
    if (listedIds.has(id)) return [];
    const known = before.get(id);
    const address = addresses.get(id) ?? addressUntilReplaced(known, owners, answered);
    // Without an address there is nothing to read: such a server is worth listing if something tells what it serves.
    if (address === undefined && known === undefined && !hasStorageVersions(id)) return [];
    const isEndpoint = address !== undefined && endpointPlaces.has(placeOf(address));
    const addressSource = sources.get(id) ?? known?.addressSource;
    const server = { id, address, addressSource, hostname: hostname ?? known?.hostname, holderIdentity };
    return [[id, { server, firm: standings.get(id)?.kind === 'held' || isEndpoint }]];
  });
}

/** An address that went to another server stays in use until that one has answered there. */
function addressUntilReplaced(
  known: FoundServer | undefined,
  owners: ReadonlyMap<string, string>,
  answered: ClusterInput['answered'],
): string | undefined {
  const address = known === undefined ? undefined : addressOf(known);
  const owner = address === undefined ? undefined : owners.get(placeOf(address));
  return owner !== undefined && answered(owner) !== true ? address : undefined;
}

/** Servers known by where they answer. One that was there already keeps the ID it had. */
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

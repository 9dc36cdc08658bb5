import type { AddressSource } from '../../snapshot/format/schema.ts';
import { type ApiEndpoint, placeOf } from './api-endpoints.ts';
import { type IdentityLease, isSameHost } from './identity-lease.ts';

interface AddressOwnersInput {
  /** Servers listed by hand; one without a known address has no place. */
  readonly listed: readonly { readonly id: string; readonly place: string | undefined }[];
  /** Leases that count, the most credible first. */
  readonly leases: readonly IdentityLease[];
  readonly endpoints: readonly ApiEndpoint[];
  /** IDs that belong to an endpoint's host names, by its address. */
  readonly endpointServerIds: ReadonlyMap<string, readonly string[]>;
  /** Earlier addresses of servers, by ID: `host:port`. */
  readonly previousAddresses: ReadonlyMap<string, string>;
}

export interface AddressOwners {
  /** Server ID by place (`placeOf`). */
  readonly owners: ReadonlyMap<string, string>;
  /** `host:port` by Lease. */
  readonly addresses: ReadonlyMap<string, string>;
  /** Source of the address, by Lease; without an entry, it is the server's earlier address. */
  readonly sources: ReadonlyMap<string, AddressSource>;
  /** ID of the server listed by hand, by Lease, for Leases of such servers. */
  readonly listedIds: ReadonlyMap<string, string>;
}

/**
 * Finds the address of each server; an address belongs to at most one server. A server listed by hand owns the address
 * that the operator gave it. A Lease owns the address in its annotation; else the endpoint whose host names lead to its
 * ID, if they lead to one host only; else the earlier address of its server.
 */
export function findAddressOwners(input: AddressOwnersInput): AddressOwners {
  const { listed, leases, endpoints, previousAddresses } = input;
  const owners = new Map<string, string>();
  const addresses = new Map<string, string>();
  const sources = new Map<string, AddressSource>();
  const listedIds = new Map<string, string>();
  for (const { id, place } of listed) if (place !== undefined) owners.set(place, id);
  const listedPlaces = new Set(owners.keys());
  for (const { id } of leases) if (listed.some((server) => server.id === id)) listedIds.set(id, id);

  const isOpen = ({ id }: IdentityLease) => !addresses.has(id) && !listedIds.has(id);
  function give(candidates: readonly IdentityLease[], address: string, source?: AddressSource): void {
    const place = placeOf(address);
    const listedOwner = listedPlaces.has(place) ? owners.get(place) : undefined;
    if (listedOwner !== undefined) {
      for (const { id } of candidates) listedIds.set(id, listedOwner);
      return;
    }
    // In doubt, the earlier owner keeps the address, so that it does not change back and forth.
    const owner =
      candidates.find(({ id }) => placeOf(previousAddresses.get(id) ?? '') === place) ?? candidates[0];
    if (owner === undefined || owners.has(place)) return;
    owners.set(place, owner.id);
    addresses.set(owner.id, address);
    if (source !== undefined) sources.set(owner.id, source);
  }

  for (const [address, candidates] of byAnnotation(leases.filter(isOpen))) give(candidates, address, 'lease');
  for (const [address, candidates] of byHostNames(endpoints, input, leases.filter(isOpen))) {
    give(candidates, address, 'endpointslice');
  }
  for (const lease of leases.filter(isOpen)) {
    const address = previousAddresses.get(lease.id);
    if (address !== undefined && !owners.has(placeOf(address))) give([lease], address);
  }
  return { owners, addresses, sources, listedIds };
}

function byAnnotation(leases: readonly IdentityLease[]): ReadonlyMap<string, readonly IdentityLease[]> {
  const byPlace = new Map<string, { address: string; candidates: IdentityLease[] }>();
  for (const lease of leases) {
    if (lease.address === undefined) continue;
    const place = placeOf(lease.address);
    const found = byPlace.get(place) ?? { address: lease.address, candidates: [] };
    found.candidates.push(lease);
    byPlace.set(place, found);
  }
  return new Map([...byPlace.values()].map(({ address, candidates }) => [address, candidates]));
}

/**
 * Endpoints with the Leases that their host names lead to. A certificate that all servers share names all their hosts,
 * so an endpoint that leads to two hosts, or a host that two endpoints lead to, does not count.
 */
function byHostNames(
  endpoints: readonly ApiEndpoint[],
  { endpointServerIds }: AddressOwnersInput,
  leases: readonly IdentityLease[],
): ReadonlyMap<string, readonly IdentityLease[]> {
  const found = new Map<string, readonly IdentityLease[]>();
  const timesFound = new Map<string, number>();
  for (const { address } of endpoints) {
    if (found.has(address)) continue;
    const ids = endpointServerIds.get(address) ?? [];
    const candidates = leases.filter(({ id, address }) => address === undefined && ids.includes(id));
    found.set(address, candidates);
    for (const { id } of candidates) timesFound.set(id, (timesFound.get(id) ?? 0) + 1);
  }
  return new Map(
    [...found].filter(([, candidates]) => {
      const [first] = candidates;
      return (
        first !== undefined &&
        candidates.every((lease) => lease === first || isSameHost(lease, first)) &&
        candidates.every(({ id }) => timesFound.get(id) === 1)
      );
    }),
  );
}

import {
  addressOf,
  cidr,
  contains,
  ipAddressKey,
  parseHostPort,
} from '../../snapshot/addresses/addresses.ts';
import type { AddressOwners } from './address-owners.ts';
import { endpointServerId, ipAddressOf, placeOf, placeOfServer } from './api-endpoints.ts';
import type { ClusterInput, FoundServer } from './cluster-input.ts';
import { acquiredAt, type IdentityLease, type LeaseStanding } from './identity-lease.ts';

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
  return leases.flatMap((lease) => {
    const { id, hostname, holderIdentity } = lease;
    if (listedIds.has(id)) return [];
    const known = before.get(id);
    const address = addresses.get(id) ?? addressUntilReplaced(known, owners, isReadable);
    // A server without an address cannot be read. It counts if StorageVersions say what it serves.
    if (address === undefined && known === undefined && !hasStorageVersions(id)) return [];
    const isEndpoint = address !== undefined && endpointPlaces.has(placeOf(address));
    const addressSource = sources.get(id) ?? known?.addressSource;
    const server = {
      id,
      address,
      addressSource,
      hostname: hostname ?? known?.hostname,
      holderIdentity,
      acquiredAt: acquisitionOf(lease, known),
    };
    return [[id, { server, firm: standings.get(id)?.kind === 'held' || isEndpoint }]];
  });
}

/** As it was first seen of this holder: later renewals say nothing of it. */
export function acquisitionOf(
  lease: IdentityLease,
  known: Pick<FoundServer, 'holderIdentity' | 'acquiredAt'> | undefined,
): number {
  const isSame = known?.holderIdentity === lease.holderIdentity && known.acquiredAt !== undefined;
  return isSame ? (known.acquiredAt ?? acquiredAt(lease)) : acquiredAt(lease);
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

const loopback = [cidr('127.0.0.0/8'), cidr('::1/128')];

/**
 * IDs of servers that a Lease names firmly, with their address, by its IP address. Without loopback, which many servers may
 * share: Kubernetes allows it in no endpoint (k8s.io/kubernetes pkg/apis/core/validation, ValidateEndpointIP).
 */
export function serversByLeasedIp(named: Iterable<NamedServer>): ReadonlyMap<string, string> {
  const byIp = new Map<string, string>();
  for (const { server, firm } of named) {
    if (!firm || server.addressSource !== 'lease') continue;
    const parsed = parseHostPort(server.address ?? '');
    const ip = parsed.ok ? parsed.value.ip : undefined;
    if (ip === undefined || loopback.some((block) => contains(block, ip))) continue;
    byIp.set(ipAddressKey(ip), server.id);
  }
  return byIp;
}

/**
 * Servers of which only the endpoint is known. A server that was known before keeps its ID.
 *
 * The endpoints have one port for all, that of the API server which wrote them last, and one IP address each
 * (k8s.io/kubernetes pkg/controlplane/reconcilers/lease.go). So while some servers have made room for routers and others
 * have not, an endpoint may lead to a router: where a Lease tells the address of the server that its certificate names, and
 * it is the same but for the port, that one counts.
 */
export function endpointServers(
  { endpoints = [], endpointServerIds, listed }: ClusterInput,
  owners: Map<string, string>,
  before: ReadonlyMap<string, FoundServer>,
  leased: Iterable<NamedServer>,
): [string, NamedServer][] {
  const listedIds = new Set(listed.map(({ id }) => id));
  const byLeasedIp = serversByLeasedIp(leased);
  const found: [string, NamedServer][] = [];
  for (const { address } of endpoints) {
    const place = placeOf(address);
    const leasedHere = byLeasedIp.get(ipAddressOf(address) ?? '');
    const isRouter = leasedHere !== undefined && endpointServerIds.get(address)?.includes(leasedHere);
    if (owners.has(place) || isRouter) continue;
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

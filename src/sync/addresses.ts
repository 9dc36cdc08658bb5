import { addressOf, cidr, contains, ipAddressKey, parseHostPort } from '../snapshot/addresses/addresses.ts';
import type { AddressSource } from '../snapshot/format/schema.ts';
import { type ApiEndpoint, endpointServerId, ipAddressOf, placeOf, placeOfServer } from './endpoints.ts';
import { acquisition, type IdentityLease, isSameHost, type LeaseStanding } from './leases.ts';
import type { Acquisition, ServerDescription } from './sync-server.ts';

export interface FoundServer extends ServerDescription {
  readonly holderIdentity?: string | undefined;
  /** When its Lease was last seen with this holder, milliseconds since the epoch. */
  readonly heldAt?: number | undefined;
  /** Since when nothing names it and it cannot be read, by the monotonic clock. */
  readonly missingSince?: number | undefined;
  /** Of a departed server: since when something names it again, by the monotonic clock. */
  readonly namedSince?: number | undefined;
}

export interface ClusterInput {
  readonly listed: readonly ServerDescription[];
  /** `undefined` until the first list. */
  readonly leases: readonly IdentityLease[] | undefined;
  /** `undefined` until the first list. */
  readonly endpoints: readonly ApiEndpoint[] | undefined;
  readonly endpointServerIds: ReadonlyMap<string, readonly string[]>;
  readonly hasStorageVersions: (id: string) => boolean;
  /** Whether the last read of a server succeeded; `undefined` before the first. */
  readonly isReadable: (id: string) => boolean | undefined;
  readonly now: number;
  readonly monotonic: number;
  /** How long a server is kept that nothing names and that cannot be read: it may only be restarting. */
  readonly departureMilliseconds: number;
  /** How long the resources of a departed server stay known. 0: not at all. */
  readonly graceMilliseconds: number;
  /** Whether Leases and endpoints are up to date. While they are not, no grace period ends. */
  readonly isUpToDate: boolean;
}

interface AddressOwnersInput {
  /** Servers listed by hand; one without a known address has no place. */
  readonly listed: readonly { readonly id: string; readonly place: string | undefined }[];
  /** Leases that count, the most credible first. */
  readonly leases: readonly IdentityLease[];
  readonly endpoints: readonly ApiEndpoint[];
  readonly endpointServerIds: ReadonlyMap<string, readonly string[]>;
  readonly previousAddresses: ReadonlyMap<string, string>;
}

export interface AddressOwners {
  readonly owners: ReadonlyMap<string, string>;
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

/** A server that a Lease or an endpoint names. `firm`: it stays even if it cannot be read. */
export interface NamedServer {
  readonly server: FoundServer;
  readonly firm: boolean;
}

export function leasedServers(
  leases: readonly IdentityLease[],
  standings: ReadonlyMap<string, LeaseStanding>,
  { owners, addresses, sources, listedIds }: AddressOwners,
  before: ReadonlyMap<string, FoundServer>,
  input: ClusterInput,
): [string, NamedServer][] {
  const { endpoints, isReadable, hasStorageVersions } = input;
  const endpointPlaces = new Set((endpoints ?? []).map(({ address }) => placeOf(address)));
  return leases.flatMap((lease) => {
    const { id, hostname } = lease;
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
      ...holding(lease, known, input),
    };
    return [[id, { server, firm: standings.get(id)?.kind === 'held' || isEndpoint }]];
  });
}

export type Holding = Pick<FoundServer, 'holderIdentity' | 'heldAt' | 'acquired'>;

/** Who holds a Lease, since when, as it was first seen of this holder: later renewals say nothing of it. */
export function holding(
  lease: IdentityLease,
  known: Holding | undefined,
  { now, isUpToDate }: Pick<ClusterInput, 'now' | 'isUpToDate'>,
): Holding & { readonly acquired: Acquisition } {
  const { holderIdentity } = lease;
  const isSame = known?.holderIdentity === holderIdentity;
  const acquired = (isSame ? known.acquired : undefined) ?? acquisition(lease, known?.heldAt);
  return { holderIdentity, acquired, heldAt: isUpToDate ? now : isSame ? known.heldAt : undefined };
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

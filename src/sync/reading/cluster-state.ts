import { isDns1123Subdomain } from '../../apimachinery/names.ts';
import {
  addressOf,
  cidr,
  contains,
  ipAddressKey,
  parseHostPort,
} from '../../snapshot/addresses/addresses.ts';
import type { AddressSource } from '../../snapshot/format/schema.ts';
import { endpointServerId, ipAddressOf, placeOf, placeOfServer } from '../documents/endpoints.ts';
import { type IdentityLease, isSameHost, type LeaseStanding, leaseStanding } from '../documents/leases.ts';
import type { ServerDescription } from '../documents/sync-server.ts';
import type { SyncTiming } from '../documents/timing.ts';

export interface FoundServer extends ServerDescription {
  /** Since when nothing names it and it cannot be read, by the monotonic clock. */
  readonly missingSince?: number | undefined;
  /** The instant since when something names a departed server again, by the monotonic clock. */
  readonly namedSince?: number | undefined;
}

export interface ClusterInput {
  readonly listed: readonly ServerDescription[];
  /** `undefined` until the first list. */
  readonly leases: readonly IdentityLease[] | undefined;
  /** `host:port`; `undefined` until the first list. */
  readonly endpoints: readonly string[] | undefined;
  /** Names of the hosts of endpoints, by address. */
  readonly endpointNames: ReadonlyMap<string, readonly string[]>;
  readonly hasStorageVersions: (id: string) => boolean;
  /** True if the last read of a server succeeded; `undefined` before the first. */
  readonly isReadable: (id: string) => boolean | undefined;
  readonly now: number;
  readonly monotonic: number;
  readonly timing: Pick<SyncTiming, 'departure' | 'grace'>;
  /** True if Leases and endpoints are up to date. While they are not, no grace period ends. */
  readonly isUpToDate: boolean;
}

export interface ClusterState {
  /** Sorted by ID, with those that are listed by hand. */
  readonly servers: readonly FoundServer[];
  readonly warnings: readonly string[];
}

/** State that the steps of one look share. */
interface Look extends ClusterInput {
  /** The servers of the previous state. */
  readonly before: ReadonlyMap<string, FoundServer>;
  /** By Lease. */
  readonly standings: ReadonlyMap<string, LeaseStanding>;
  /** Leases that count, the one renewed last first. One that has expired names no server that is not known. */
  readonly credible: readonly IdentityLease[];
}

/**
 * The servers of the cluster, from Leases, endpoints and what was there before. Pure.
 *
 * A server stays while a Lease or an endpoint names it, and after that while it can be read. A server with a new ID at
 * the same address replaces it as soon as that one has been read.
 */
export function nextClusterState(previous: readonly FoundServer[], input: ClusterInput): ClusterState {
  const { now, isReadable } = input;
  // The name becomes the ID of a server. API servers refuse any other name, and routers a snapshot with one.
  const leases = (input.leases ?? []).filter(
    ({ id, holderIdentity }) => holderIdentity !== '' && isDns1123Subdomain(id),
  );
  const standings = new Map(leases.map((lease) => [lease.id, leaseStanding(lease, leases, now)]));
  const before = new Map(previous.map((server) => [server.id, server]));
  const credible = leases
    .filter(
      ({ id }) =>
        standings.get(id)?.kind === 'held' || (standings.get(id)?.kind === 'expired' && before.has(id)),
    )
    .sort((one, other) => other.renewedAt - one.renewedAt || (one.id < other.id ? -1 : 1));
  const look: Look = { ...input, before, standings, credible };
  const owned = findAddressOwners(look);
  const named = leasedServers(look, owned);
  for (const server of endpointServers(look, owned, named)) named.set(server.id, { server, firm: true });
  const listed = listedServers(look, owned.listedIds);

  const servers = [...listed];
  for (const id of new Set([...named.keys(), ...before.keys()])) {
    const server = named.get(id)?.server ?? before.get(id);
    if (server === undefined || listed.some((each) => each.id === id)) continue;
    const candidates = named.has(id) ? [] : replacing(server, look, owned, named);
    const isReplaced = candidates.some((other) => other !== id && isReadable(other) === true);
    const standing = isReplaced ? undefined : standingOf(id, named.get(id)?.firm === true, look);
    if (standing === undefined) continue;
    const { departedAt: _departedAt, namedSince: _namedSince, ...description } = server;
    servers.push({ ...description, ...standing });
  }
  return {
    servers: servers.sort((one, other) => (one.id < other.id ? -1 : 1)),
    warnings: unmatched(look, owned),
  };
}

/** They stay as they are listed; who holds their Lease shows when another process runs them. */
function listedServers(look: Look, listedIds: ReadonlyMap<string, string>): readonly FoundServer[] {
  return look.listed.map((server) => {
    // The most credible one comes first.
    const lease = look.credible.find(({ id }) => listedIds.get(id) === server.id);
    return {
      ...server,
      hostname: server.hostname ?? lease?.hostname,
      ...(lease && { holderIdentity: lease.holderIdentity }),
    };
  });
}

function unmatched(
  { credible, standings }: Look,
  { addresses, listedIds }: AddressOwners,
): readonly string[] {
  const ids = credible
    .filter(({ id }) => standings.get(id)?.kind === 'held' && !addresses.has(id) && !listedIds.has(id))
    .map(({ id }) => id)
    .sort();
  if (ids.length === 0) return [];
  return [
    `no address is known for identity Lease ${ids.join(', ')}: its server has an ID made from its endpoint, if any; ` +
      'to give it this ID, list it by hand',
  ];
}

interface AddressOwners {
  /** By place. */
  readonly owners: Map<string, string>;
  /** By Lease. Without a source it is the server's earlier address. */
  readonly addresses: Map<string, { readonly address: string; readonly source: AddressSource | undefined }>;
  /** ID of the server listed by hand, by Lease, for Leases of such servers. */
  readonly listedIds: ReadonlyMap<string, string>;
}

/**
 * Finds the address of each server; an address belongs to at most one server. A server listed by hand owns the address
 * that the operator gave it. A Lease owns the address in its annotation; else the endpoint whose names have that of its
 * host, and of no other; else the earlier address of its server.
 */
function findAddressOwners({ listed, credible, endpoints = [], endpointNames, before }: Look): AddressOwners {
  const owners = new Map<string, string>();
  const addresses: AddressOwners['addresses'] = new Map();
  const listedIds = new Map<string, string>();
  for (const server of listed) {
    const place = placeOfServer(server);
    if (place !== undefined) owners.set(place, server.id);
  }
  const listedPlaces = new Set(owners.keys());
  for (const { id } of credible) if (listed.some((server) => server.id === id)) listedIds.set(id, id);

  const open = () => credible.filter(({ id }) => !addresses.has(id) && !listedIds.has(id));
  function give(candidates: readonly IdentityLease[], address: string, source?: AddressSource): void {
    const place = placeOf(address);
    const listedOwner = listedPlaces.has(place) ? owners.get(place) : undefined;
    if (listedOwner !== undefined) {
      for (const { id } of candidates) listedIds.set(id, listedOwner);
      return;
    }
    // In doubt, the earlier owner keeps the address, so that it does not change back and forth.
    const isEarlier = ({ id }: IdentityLease) => placeOfServer(before.get(id) ?? { id }) === place;
    const owner = candidates.find(isEarlier) ?? candidates[0];
    if (owner === undefined || owners.has(place)) return;
    owners.set(place, owner.id);
    addresses.set(owner.id, { address, source });
  }

  const annotated = open().filter(({ address }) => address !== undefined);
  for (const candidates of Map.groupBy(annotated, ({ address = '' }) => placeOf(address)).values()) {
    give(candidates, candidates[0]?.address ?? '', 'lease');
  }
  for (const [address, candidates] of byHostNames(endpoints, endpointNames, open())) {
    give(candidates, address, 'endpointslice');
  }
  for (const lease of open()) {
    const address = addressOf(before.get(lease.id) ?? { id: lease.id });
    if (address !== undefined && !owners.has(placeOf(address))) give([lease], address);
  }
  return { owners, addresses, listedIds };
}

/**
 * Endpoints with the Leases that their host names lead to. A certificate that all servers share names all their hosts,
 * so an endpoint that leads to two hosts, or a host that two endpoints lead to, does not count.
 */
function byHostNames(
  endpoints: readonly string[],
  endpointNames: ClusterInput['endpointNames'],
  leases: readonly IdentityLease[],
): ReadonlyMap<string, readonly IdentityLease[]> {
  const found = new Map<string, readonly IdentityLease[]>();
  const timesFound = new Map<string, number>();
  for (const address of endpoints) {
    if (found.has(address)) continue;
    const names = endpointNames.get(address) ?? [];
    const candidates = leases.filter(
      ({ hostname, address }) => address === undefined && hostname !== undefined && names.includes(hostname),
    );
    found.set(address, candidates);
    for (const { id } of candidates) timesFound.set(id, (timesFound.get(id) ?? 0) + 1);
  }
  return new Map(
    [...found].filter(([, candidates]) => {
      const [first] = candidates;
      return (
        first !== undefined &&
        candidates.every((lease) => isSameHost(lease, first)) &&
        candidates.every(({ id }) => timesFound.get(id) === 1)
      );
    }),
  );
}

/** A server that a Lease or an endpoint names. `firm`: it stays even if it cannot be read. */
interface NamedServer {
  readonly server: FoundServer;
  readonly firm: boolean;
}

function leasedServers(
  look: Look,
  { owners, addresses, listedIds }: AddressOwners,
): Map<string, NamedServer> {
  const { credible, standings, before, endpoints = [], isReadable, hasStorageVersions } = look;
  const endpointPlaces = new Set(endpoints.map(placeOf));
  const named = new Map<string, NamedServer>();
  for (const lease of credible) {
    const { id, hostname } = lease;
    if (listedIds.has(id)) continue;
    const known = before.get(id);
    const own = addresses.get(id);
    const address = own?.address ?? addressUntilReplaced(known, owners, isReadable);
    // A server without an address cannot be read. It counts if StorageVersions say what it serves, or if its address is refused: 503, not 404.
    const isThere = hasStorageVersions(id) || lease.isAddressRefused === true;
    if (address === undefined && known === undefined && !isThere) continue;
    const isEndpoint = address !== undefined && endpointPlaces.has(placeOf(address));
    const server = {
      id,
      address,
      addressSource: own?.source ?? known?.addressSource,
      hostname: hostname ?? known?.hostname,
      holderIdentity: lease.holderIdentity,
    };
    named.set(id, { server, firm: standings.get(id)?.kind === 'held' || isEndpoint });
  }
  return named;
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
 * Servers that a Lease names firmly, with their address, by its IP address. Without loopback, which many servers may
 * share: Kubernetes allows it in no endpoint (k8s.io/kubernetes pkg/apis/core/validation, ValidateEndpointIP).
 */
function serversByLeasedIp(named: ReadonlyMap<string, NamedServer>): ReadonlyMap<string, FoundServer> {
  const byIp = new Map<string, FoundServer>();
  for (const { server, firm } of named.values()) {
    if (!firm || server.addressSource !== 'lease') continue;
    const parsed = parseHostPort(server.address ?? '');
    const ip = parsed.ok ? parsed.value.ip : undefined;
    if (ip === undefined || loopback.some((block) => contains(block, ip))) continue;
    byIp.set(ipAddressKey(ip), server);
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
function* endpointServers(
  { endpoints = [], endpointNames, listed, before }: Look,
  { owners }: AddressOwners,
  leased: ReadonlyMap<string, NamedServer>,
): Generator<FoundServer> {
  const byLeasedIp = serversByLeasedIp(leased);
  for (const address of endpoints) {
    const place = placeOf(address);
    const leasedHere = byLeasedIp.get(ipAddressOf(address) ?? '');
    const isRouter = endpointNames.get(address)?.includes(leasedHere?.hostname ?? '') === true;
    if (owners.has(place) || isRouter) continue;
    const known = [...before.values()].find(
      (server) => placeOfServer(server) === place && !listed.some(({ id }) => id === server.id),
    );
    const server: FoundServer = {
      ...(known ?? { id: endpointServerId(address), address }),
      addressSource: 'endpointslice',
    };
    owners.set(place, server.id);
    yield server;
  }
}

type Standing = Pick<FoundServer, 'missingSince' | 'departedAt' | 'namedSince'>;

const there: Standing = { missingSince: undefined };

/**
 * The standing of a server that was not replaced; `undefined` if it is removed.
 *
 * - A server that is firmly named stays, whether it can be read or not.
 * - Any other server stays while it can be read, and for a short time after. If its Lease is gone, it may have been
 *   stopped, or somebody may have removed the Lease: only reading the server shows which.
 * - After that time it has departed, and is removed at the end of the grace period. From 1.35 on, a kube-apiserver
 *   deletes its Lease at each stop, also for a restart, and its resources must stay known meanwhile.
 */
function standingOf(id: string, isFirm: boolean, look: Look): Standing | undefined {
  const { before, now, monotonic, timing } = look;
  const known = before.get(id);
  if (look.isReadable(id) === true) return there;
  if (known?.departedAt !== undefined) return departedStanding(known, known.departedAt, isFirm, look);
  // As long as one of the two cannot be listed, any server may still be named.
  const isEverythingKnown = look.leases !== undefined && look.endpoints !== undefined;
  if (isFirm || (known !== undefined && !isEverythingKnown) || look.isReadable(id) === undefined)
    return there;
  const missingSince = known?.missingSince ?? monotonic;
  if (monotonic - missingSince < timing.departure) return { missingSince };
  return timing.grace > 0 ? { missingSince: undefined, departedAt: now } : undefined;
}

/**
 * A departed server that is named again will soon be readable. If it is not, after the time of a departure it counts as
 * there: the reason may be on the side of the sync job.
 */
function departedStanding(
  known: FoundServer,
  since: number,
  isFirm: boolean,
  { now, monotonic, timing, isUpToDate }: ClusterInput,
): Standing | undefined {
  // The instant may come from another machine's clock, or this clock may have been set back.
  const departedAt = Math.min(since, now);
  if (isFirm) {
    const namedSince = known.namedSince ?? monotonic;
    if (monotonic - namedSince >= timing.departure) return there;
    return { missingSince: undefined, departedAt, namedSince };
  }
  if (isUpToDate && now - departedAt >= timing.grace) return undefined;
  return { missingSince: undefined, departedAt };
}

/** IDs of servers that have its address, or its host under a new ID: once one can be read, it has replaced this one. */
function replacing(
  server: FoundServer,
  { standings, isReadable, leases = [], endpoints = [] }: Look,
  { owners, listedIds }: AddressOwners,
  named: ReadonlyMap<string, NamedServer>,
): readonly string[] {
  const { id, hostname } = server;
  const standing = standings.get(id);
  const place = placeOfServer(server);
  const isGone = isReadable(id) === false && hostname !== undefined;
  const successors = isGone ? leases.filter((lease) => lease.hostname === hostname) : [];
  return [
    ...(place === undefined ? [] : [owners.get(place) ?? id]),
    ...(standing?.kind === 'superseded' ? [standing.by] : []),
    id,
    ...movedTo(server, owners, named, endpoints),
    ...successors.map((lease) => lease.id),
  ].map((other) => listedIds.get(other) ?? other);
}

/**
 * The ID at another port of its IP address, of a server that was named by its endpoint alone: by its endpoint now, or by
 * a Lease. kube-apiserver keeps one endpoint for each IP address (k8s.io/kubernetes pkg/controlplane/reconcilers/lease.go),
 * so it is the same server, which made room for a router. That one responds at the earlier port.
 */
function movedTo(
  { addressSource, holderIdentity, ...server }: FoundServer,
  owners: ReadonlyMap<string, string>,
  named: ReadonlyMap<string, NamedServer>,
  endpoints: readonly string[],
): readonly string[] {
  if (addressSource !== 'endpointslice' || holderIdentity !== undefined) return [];
  const host = ipAddressOf(addressOf(server) ?? '');
  if (host === undefined) return [];
  const leased = serversByLeasedIp(named).get(host)?.id;
  return endpoints
    .filter((address) => ipAddressOf(address) === host)
    .filter((address) => owners.get(placeOf(address)) === endpointServerId(address))
    .map(endpointServerId)
    .concat(leased ?? []);
}

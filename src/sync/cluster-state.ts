import { isDns1123Subdomain } from '../apimachinery/names.ts';
import { quoted } from '../runtime/validation.ts';
import { addressOf } from '../snapshot/addresses/addresses.ts';
import {
  type AddressOwners,
  type ClusterInput,
  endpointServers,
  type FoundServer,
  findAddressOwners,
  type Holding,
  holding,
  leasedServers,
  type NamedServer,
  serversByLeasedIp,
} from './addresses.ts';
import { endpointServerId, ipAddressOf, placeOf, placeOfServer } from './endpoints.ts';
import {
  followRenewals,
  type IdentityLease,
  type LeaseRenewal,
  type LeaseStanding,
  leaseStanding,
} from './leases.ts';

export interface ClusterState {
  readonly servers: readonly FoundServer[];
  /** From Leases of servers that are listed by hand, by their ID. */
  readonly listed: ReadonlyMap<string, Holding & Pick<FoundServer, 'hostname'>>;
  readonly renewals: ReadonlyMap<string, LeaseRenewal>;
  /** Expired Leases whose servers could not be read, with the time of their last renewal. */
  readonly givenUp: ReadonlyMap<string, number>;
  readonly warnings: readonly string[];
}

/** @param servers those of an earlier run: they stay until Leases and endpoints have been listed */
export function initialClusterState(servers: readonly FoundServer[]): ClusterState {
  return { servers, listed: new Map(), renewals: new Map(), givenUp: new Map(), warnings: [] };
}

/**
 * The servers of the cluster, from Leases, endpoints and the previous state. Pure.
 *
 * A server stays while a Lease or an endpoint names it, and after that while it can be read. A server with a new ID at
 * the same address replaces it as soon as that one has been read.
 */
export function nextClusterState(previous: ClusterState, input: ClusterInput): ClusterState {
  const { now, monotonic } = input;
  const held = (input.leases ?? []).filter(({ holderIdentity }) => holderIdentity !== '');
  // The name becomes the ID of a server, and a router refuses a snapshot with one invalid ID.
  const leases = held.filter(({ id }) => isDns1123Subdomain(id));
  const renewals = followRenewals(leases, previous.renewals, monotonic);
  const standings = new Map(
    leases.map((lease) => [lease.id, leaseStanding(lease, leases, renewals.get(lease.id), now, monotonic)]),
  );
  const credible = byCredibility(leases, standings).filter(
    ({ id, renewedAt }) => previous.givenUp.get(id) !== renewedAt,
  );
  const before = new Map(previous.servers.map((server) => [server.id, server]));
  const owned = findAddressOwners({
    listed: input.listed.map((server) => ({ id: server.id, place: placeOfServer(server) })),
    leases: credible,
    endpoints: input.endpoints ?? [],
    endpointServerIds: input.endpointServerIds,
    previousAddresses: new Map(
      previous.servers.flatMap((server) => {
        const address = addressOf(server);
        return address === undefined ? [] : [[server.id, address]];
      }),
    ),
  });
  const owners = new Map(owned.owners);
  const leased = new Map(leasedServers(credible, standings, owned, before, input));
  const named = new Map([...leased, ...endpointServers(input, owners, before, leased.values())]);
  const settled = settleServers({ named, before, owners, standings, input, listedIds: owned.listedIds });
  return {
    servers: settled.servers,
    listed: ofListedServers(credible, owned.listedIds, previous.listed, input),
    renewals,
    givenUp: givenUp(previous, leases, standings, settled.left),
    warnings: [...misnamed(held), ...unmatched(credible, standings, owned)],
  };
}

/** Held before expired, then the one renewed last. */
function byCredibility(
  leases: readonly IdentityLease[],
  standings: ReadonlyMap<string, LeaseStanding>,
): readonly IdentityLease[] {
  const rank = ({ id }: IdentityLease) => (standings.get(id)?.kind === 'held' ? 0 : 1);
  return leases
    .filter(({ id }) => standings.get(id)?.kind !== 'superseded')
    .sort(
      (one, other) =>
        rank(one) - rank(other) || other.renewedAt - one.renewedAt || (one.id < other.id ? -1 : 1),
    );
}

function ofListedServers(
  leases: readonly IdentityLease[],
  listedIds: ReadonlyMap<string, string>,
  before: ClusterState['listed'],
  input: ClusterInput,
): ClusterState['listed'] {
  const listed = new Map<string, Holding & Pick<FoundServer, 'hostname'>>();
  for (const lease of leases) {
    const listedId = listedIds.get(lease.id);
    // The most credible one comes first.
    if (listedId === undefined || listed.has(listedId)) continue;
    listed.set(listedId, { hostname: lease.hostname, ...holding(lease, before.get(listedId), input) });
  }
  return listed;
}

/** An expired Lease does not bring its server back before its next renewal. */
function givenUp(
  previous: ClusterState,
  leases: readonly IdentityLease[],
  standings: ReadonlyMap<string, LeaseStanding>,
  left: ReadonlySet<string>,
): ClusterState['givenUp'] {
  return new Map(
    leases
      .filter(
        ({ id, renewedAt }) =>
          standings.get(id)?.kind === 'expired' && (left.has(id) || previous.givenUp.get(id) === renewedAt),
      )
      .map(({ id, renewedAt }) => [id, renewedAt]),
  );
}

function misnamed(leases: readonly IdentityLease[]): readonly string[] {
  return leases.flatMap(({ id }) =>
    isDns1123Subdomain(id) ? [] : [`identity Lease ${quoted(id)} is left out: its name is no DNS subdomain`],
  );
}

function unmatched(
  leases: readonly IdentityLease[],
  standings: ReadonlyMap<string, LeaseStanding>,
  { addresses, listedIds }: AddressOwners,
): readonly string[] {
  const ids = leases
    .filter(({ id }) => standings.get(id)?.kind === 'held' && !addresses.has(id) && !listedIds.has(id))
    .map(({ id }) => id)
    .sort();
  if (ids.length === 0) return [];
  return [
    `no address is known for identity Lease ${ids.join(', ')}: its server has an ID made from its endpoint, if any; ` +
      'to give it this ID, list it by hand',
  ];
}

interface SettleInput {
  readonly named: ReadonlyMap<string, NamedServer>;
  readonly before: ReadonlyMap<string, FoundServer>;
  readonly owners: ReadonlyMap<string, string>;
  readonly standings: ReadonlyMap<string, LeaseStanding>;
  /** ID of the server listed by hand, by Lease. */
  readonly listedIds: ReadonlyMap<string, string>;
  readonly input: ClusterInput;
}

interface Settled {
  readonly servers: readonly FoundServer[];
  readonly left: ReadonlySet<string>;
}

/**
 * Decides which servers stay.
 *
 * - A server that is firmly named stays, whether it can be read or not.
 * - A server that another readable server has replaced is removed.
 * - Any other server stays while it can be read, and for a short time after. If its Lease is gone, it may have been
 *   stopped, or somebody may have removed the Lease: only reading the server shows which.
 * - After that time it has departed, and is removed at the end of the grace period. From 1.35 on, a kube-apiserver
 *   deletes its Lease at each stop, also for a restart, and its resources must stay known meanwhile.
 */
function settleServers(settle: SettleInput): Settled {
  const { named, before, input } = settle;
  const listedIds = new Set(input.listed.map(({ id }) => id));
  const servers: FoundServer[] = [];
  const left = new Set<string>();
  for (const id of new Set([...named.keys(), ...before.keys()])) {
    if (listedIds.has(id)) continue;
    const known = before.get(id);
    const server = named.get(id)?.server ?? known;
    if (server === undefined) continue;
    const isFirm = named.get(id)?.firm === true;
    const standing = isReplaced(server, named.has(id), settle)
      ? undefined
      : standingOf(known, id, isFirm, input);
    if (standing === undefined || standing.departedAt !== undefined) left.add(id);
    if (standing === undefined) continue;
    const { departedAt: _departedAt, namedSince: _namedSince, ...description } = server;
    servers.push({ ...description, ...standing });
  }
  return { servers: servers.sort((one, other) => (one.id < other.id ? -1 : 1)), left };
}

type Standing = Pick<FoundServer, 'missingSince' | 'departedAt' | 'namedSince'>;

const there: Standing = { missingSince: undefined };

/** The standing of a server that was not replaced; `undefined` if it is removed. */
function standingOf(
  known: FoundServer | undefined,
  id: string,
  isFirm: boolean,
  input: ClusterInput,
): Standing | undefined {
  const { now, monotonic, departureMilliseconds, graceMilliseconds } = input;
  if (input.isReadable(id) === true) return there;
  if (known?.departedAt !== undefined) return departedStanding(known, known.departedAt, isFirm, input);
  // As long as one of the two cannot be listed, any server may still be named.
  const isEverythingKnown = input.leases !== undefined && input.endpoints !== undefined;
  if (isFirm || (known !== undefined && !isEverythingKnown) || input.isReadable(id) === undefined)
    return there;
  const missingSince = known?.missingSince ?? monotonic;
  if (monotonic - missingSince < departureMilliseconds) return { missingSince };
  return graceMilliseconds > 0 ? { missingSince: undefined, departedAt: now } : undefined;
}

/**
 * A departed server that is named again will soon be readable. If it is not, after the time of a departure it counts as
 * there: the reason may be on the side of the sync job.
 */
function departedStanding(
  known: FoundServer,
  since: number,
  isFirm: boolean,
  { now, monotonic, departureMilliseconds, graceMilliseconds, isUpToDate }: ClusterInput,
): Standing | undefined {
  // It may come from another machine's clock, or this clock may have been set back.
  const departedAt = Math.min(since, now);
  if (isFirm) {
    const namedSince = known.namedSince ?? monotonic;
    if (monotonic - namedSince >= departureMilliseconds) return there;
    return { missingSince: undefined, departedAt, namedSince };
  }
  if (isUpToDate && now - departedAt >= graceMilliseconds) return undefined;
  return { missingSince: undefined, departedAt };
}

/** Whether another readable server has its address, or its host under a new ID. */
function isReplaced(
  server: FoundServer,
  isNamed: boolean,
  { named, owners, standings, listedIds, input }: SettleInput,
): boolean {
  if (isNamed) return false;
  const { id, hostname } = server;
  const standing = standings.get(id);
  const place = placeOfServer(server);
  const candidates = [
    place === undefined ? undefined : owners.get(place),
    standing?.kind === 'superseded' ? (listedIds.get(standing.by) ?? standing.by) : undefined,
    listedIds.get(id),
    ...movedTo(server, owners, named, input),
    ...(input.isReadable(id) === false && hostname !== undefined
      ? (input.leases ?? [])
          .filter((lease) => lease.hostname === hostname)
          .map((lease) => listedIds.get(lease.id) ?? lease.id)
      : []),
  ];
  return candidates.some((other) => other !== undefined && other !== id && input.isReadable(other) === true);
}

/**
 * The ID at another port of its IP address, of a server that was named by its endpoint alone: by its endpoint now, or by
 * a Lease. kube-apiserver keeps one endpoint for each IP address (k8s.io/kubernetes pkg/controlplane/reconcilers/lease.go),
 * so it is the same server, which made room for a router. That one responds at the earlier port.
 */
function movedTo(
  { addressSource, holderIdentity, ...server }: FoundServer,
  owners: ReadonlyMap<string, string>,
  named: SettleInput['named'],
  { endpoints = [] }: ClusterInput,
): readonly string[] {
  if (addressSource !== 'endpointslice' || holderIdentity !== undefined) return [];
  const host = ipAddressOf(addressOf(server) ?? '');
  if (host === undefined) return [];
  const leased = serversByLeasedIp(named.values()).get(host);
  return endpoints
    .filter(({ address }) => ipAddressOf(address) === host)
    .filter(({ address }) => owners.get(placeOf(address)) === endpointServerId(address))
    .map(({ address }) => endpointServerId(address))
    .concat(leased ?? []);
}

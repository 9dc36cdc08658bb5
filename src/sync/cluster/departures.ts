import { addressOf } from '../../snapshot/addresses/addresses.ts';
import { endpointServerId, ipAddressOf, placeOf, placeOfServer } from './api-endpoints.ts';
import type { ClusterInput, FoundServer } from './cluster-input.ts';
import type { LeaseStanding } from './identity-lease.ts';
import { type NamedServer, serversByLeasedIp } from './named-servers.ts';

interface SettleInput {
  /** Servers that a Lease or an endpoint names. */
  readonly named: ReadonlyMap<string, NamedServer>;
  readonly before: ReadonlyMap<string, FoundServer>;
  /** Server ID by place. */
  readonly owners: ReadonlyMap<string, string>;
  readonly standings: ReadonlyMap<string, LeaseStanding>;
  /** ID of the server listed by hand, by Lease. */
  readonly listedIds: ReadonlyMap<string, string>;
  readonly input: ClusterInput;
}

interface Settled {
  /** Sorted by ID. */
  readonly servers: readonly FoundServer[];
  /** Servers that were removed or have departed. */
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
export function settleServers(settle: SettleInput): Settled {
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
    // Its Lease belongs to a server that is listed by hand.
    listedIds.get(id),
    ...movedTo(server, owners, named, input),
    // Its Lease is gone, and its host has another one.
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

import { placeOfServer } from './api-endpoints.ts';
import type { ClusterInput, FoundServer } from './cluster-input.ts';
import type { LeaseStanding } from './lease-standing.ts';
import type { NamedServer } from './named-servers.ts';

export interface SettleInput {
  /** Servers that a Lease or an endpoint names now. */
  readonly named: ReadonlyMap<string, NamedServer>;
  readonly before: ReadonlyMap<string, FoundServer>;
  /** Server ID by place. */
  readonly owners: ReadonlyMap<string, string>;
  readonly standings: ReadonlyMap<string, LeaseStanding>;
  /** Hand-listed server by Lease. */
  readonly listedIds: ReadonlyMap<string, string>;
  readonly input: ClusterInput;
}

export interface Settled {
  /** Sorted by ID. */
  readonly servers: readonly FoundServer[];
  /** Those that are none any longer, and those that have departed. */
  readonly left: ReadonlySet<string>;
}

/**
 * Decides who stays. Named firmly: stays, whether it answers or not. Replaced by a server that has answered:
 * goes. Else it stays while it answers, and for a moment after: a Lease that is gone says that a server was told
 * to stop, or that somebody removed the Lease, and only the server itself can say which. After that moment it has
 * departed, and goes when the grace is over: a kube-apiserver from 1.35 on deletes its Lease whenever it is stopped,
 * for a restart too, and what nobody serves for a minute is not gone.
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

/** How a server stands that nobody has replaced; `undefined` when it is none any longer. */
function standingOf(
  known: FoundServer | undefined,
  id: string,
  isFirm: boolean,
  input: ClusterInput,
): Standing | undefined {
  const { now, monotonic, departureMilliseconds, graceMilliseconds } = input;
  if (input.answered(id) === true) return there;
  if (known?.departedAt !== undefined) return departedStanding(known, known.departedAt, isFirm, input);
  // While one of the two cannot be listed, nobody can be said to be named no longer.
  const isEverythingKnown = input.leases !== undefined && input.endpoints !== undefined;
  if (isFirm || (known !== undefined && !isEverythingKnown) || input.answered(id) === undefined) return there;
  const missingSince = known?.missingSince ?? monotonic;
  if (monotonic - missingSince < departureMilliseconds) return { missingSince };
  return graceMilliseconds > 0 ? { missingSince: undefined, departedAt: now } : undefined;
}

/**
 * A departed server that is named again is about to answer, as what it is now. Only one that does not, for as long as
 * a departure takes, is taken for there: it may be the sync job alone that cannot read it.
 */
function departedStanding(
  known: FoundServer,
  since: number,
  isFirm: boolean,
  { now, monotonic, departureMilliseconds, graceMilliseconds, isUpToDate }: ClusterInput,
): Standing | undefined {
  // By another machine's clock, or before this one was set back.
  const departedAt = Math.min(since, now);
  if (isFirm) {
    const namedSince = known.namedSince ?? monotonic;
    if (monotonic - namedSince >= departureMilliseconds) return there;
    return { missingSince: undefined, departedAt, namedSince };
  }
  if (isUpToDate && now - departedAt >= graceMilliseconds) return undefined;
  return { missingSince: undefined, departedAt };
}

/** Whether another server took its place, by address or as its host's new ID, and has answered there. */
function isReplaced(
  server: FoundServer,
  isNamed: boolean,
  { owners, standings, listedIds, input }: SettleInput,
): boolean {
  if (isNamed) return false;
  const { id, hostname } = server;
  const standing = standings.get(id);
  const place = placeOfServer(server);
  const candidates = [
    place === undefined ? undefined : owners.get(place),
    standing?.kind === 'superseded' ? (listedIds.get(standing.by) ?? standing.by) : undefined,
    // Its Lease turned out to be that of a server that is listed by hand.
    listedIds.get(id),
    // Its Lease is gone, and its host has another one.
    ...(input.answered(id) === false && hostname !== undefined
      ? (input.leases ?? [])
          .filter((lease) => lease.hostname === hostname)
          .map((lease) => listedIds.get(lease.id) ?? lease.id)
      : []),
  ];
  return candidates.some((other) => other !== undefined && other !== id && input.answered(other) === true);
}

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
  readonly departed: ReadonlySet<string>;
}

/**
 * Decides who stays. Named firmly: stays, whether it answers or not. Replaced by a server that has answered:
 * goes. Else it stays while it answers, and for a moment after: a Lease that is gone says that a server was told
 * to stop, or that somebody removed the Lease, and only the server itself can say which.
 */
export function settleServers(settle: SettleInput): Settled {
  const { named, before, input } = settle;
  const listedIds = new Set(input.listed.map(({ id }) => id));
  // While one of the two cannot be listed, nobody can be said to be named no longer.
  const isEverythingKnown = input.leases !== undefined && input.endpoints !== undefined;
  const servers: FoundServer[] = [];
  const departed = new Set<string>();
  for (const id of new Set([...named.keys(), ...before.keys()])) {
    if (listedIds.has(id)) continue;
    const known = before.get(id);
    const server = named.get(id)?.server ?? known;
    if (server === undefined) continue;
    const isFirm = named.get(id)?.firm === true || (known !== undefined && !isEverythingKnown);
    const missingSince =
      isFirm || input.answered(id) !== false ? undefined : (known?.missingSince ?? input.monotonic);
    const isOver =
      missingSince !== undefined && input.monotonic - missingSince >= input.departureMilliseconds;
    if (isOver || isReplaced(server, named.has(id), settle)) departed.add(id);
    else servers.push({ ...server, missingSince });
  }
  return { servers: servers.sort((one, other) => (one.id < other.id ? -1 : 1)), departed };
}

/** Whether another server took its place, by address or as its host's new ID, and has answered there. */
function isReplaced(
  server: FoundServer,
  isNamed: boolean,
  { owners, standings, listedIds, input }: SettleInput,
): boolean {
  if (isNamed) return false;
  const { id } = server;
  const standing = standings.get(id);
  const place = placeOfServer(server);
  const candidates = [
    place === undefined ? undefined : owners.get(place),
    standing?.kind === 'superseded' ? (listedIds.get(standing.by) ?? standing.by) : undefined,
    // Its Lease turned out to be that of a server that is listed by hand.
    listedIds.get(id),
  ];
  return candidates.some((other) => other !== undefined && other !== id && input.answered(other) === true);
}

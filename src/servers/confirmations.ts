import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { confirmedWithin } from '../snapshot/routing-table/version-instants.ts';
import { isSilent } from './server-record.ts';
import { presentOf, type ServerRecord } from './server-states.ts';

export interface UnconfirmedServers {
  /** IDs of servers that have once said that they are as known, and not for so many milliseconds now. */
  readonly silent: ReadonlySet<string>;
  /** The silent servers that may have been made others meanwhile without this router's being told. */
  readonly mayDiffer: ReadonlySet<string>;
}

/** Milliseconds after which the snapshot's word on a silent server is enough. */
const toldWithin = 60_000;

/**
 * True of a silent server of which nobody says more: it has departed, or who reads the cluster cannot reach it either, and no
 * other process holds its Lease. Others may know a server by what it has said of itself
 * since: until a snapshot tells that, or for a minute, the server counts as within reach.
 */
function isOutOfReach(record: ServerRecord, now: number): boolean {
  const { told, state, word, confirmedAt: at = Number.NEGATIVE_INFINITY } = record;
  if (!isSilent(record) || told?.unread === true) return false;
  if (word !== undefined && now - at <= toldWithin) return false;
  return told?.stale === true || state.kind === 'departed';
}

/** Times at which this router knew nothing, and at which it was told something. */
export interface Isolation {
  /** The last instant at which no server had confirmed what it is within the bound. */
  readonly at: number;
  /** When the last snapshot came for which any server had been read. */
  readonly toldAt: number;
}

export const notIsolated: Isolation = { at: Number.NEGATIVE_INFINITY, toldAt: 0 };

/** The times as they are now: while this router is cut off, it is so at this instant. Pure. */
export function isolationAt(
  before: Isolation,
  records: ReadonlyMap<string, ServerRecord>,
  now: number,
): Isolation {
  if (records.size === 0) return before;
  // Each request asks this. Nearly always the first server ends it.
  for (const { confirmedAt: at } of records.values()) {
    if (at === undefined || now - at <= confirmedWithin) return before;
  }
  return { ...before, at: now };
}

/** True of a snapshot for which a server was read: a reader that is cut off makes some, too, and they say nothing. */
export function saysSomething({ servers }: RoutingTable): boolean {
  return servers.some(({ stale, departed }) => !stale && !departed);
}

/**
 * True while no snapshot counts as a word on a silent server: this router has been cut off from all servers, and who reads the
 * cluster may have been, too. Not for longer than a minute: nobody may be reading.
 */
function isUntold({ at, toldAt }: Isolation, now: number): boolean {
  return toldAt <= at && now - at <= toldWithin;
}

/** `isolated`: no server confirms what it is; `not told yet`: some do again, and no snapshot has come since. */
export type Untold = 'isolated' | 'not told yet' | undefined;

export function untoldAt(isolation: Isolation, now: number): Untold {
  if (!isUntold(isolation, now)) return undefined;
  return isolation.at === now ? 'isolated' : 'not told yet';
}

/**
 * @returns when all servers were asked, at the latest, of which it was heard that they are as they are known; `undefined`: not
 *   all of them have been
 */
export function confirmedAt(
  records: Iterable<ServerRecord>,
  isolation: Isolation,
  now: number,
): number | undefined {
  const isAnyExcused = !isUntold(isolation, now);
  let first = Number.POSITIVE_INFINITY;
  for (const record of records) {
    if (isAnyExcused && isOutOfReach(record, now)) continue;
    if (record.confirmedAt === undefined) return undefined;
    first = Math.min(first, record.confirmedAt);
  }
  return first === Number.POSITIVE_INFINITY ? undefined : first;
}

/**
 * @param within milliseconds
 * @returns the servers that have fallen silent; `undefined`: there are none
 */
export function unconfirmed(
  records: ReadonlyMap<string, ServerRecord>,
  within: number,
  isolation: Isolation,
  now: number,
): UnconfirmedServers | undefined {
  let confirmed = 0;
  for (const record of records.values()) {
    if (record.confirmedAt !== undefined && now - record.confirmedAt <= within) confirmed++;
  }
  // Nearly always: nothing is made on the request path, then.
  if (confirmed === records.size) return undefined;
  const ageOf = (record: ServerRecord) => now - (record.confirmedAt ?? now);
  const late = [...records.values()].filter((record) => ageOf(record) > within);
  if (late.length === 0) return undefined;
  const silent = new Set(late.map(({ id }) => id));
  // A router that is cut off from all servers knows nothing. Otherwise the reader of the cluster has told meanwhile
  // what a server is, or that nobody reaches it.
  if (confirmed === 0 || isUntold(isolation, now)) return { silent, mayDiffer: silent };
  const isLately = (record: ServerRecord) =>
    ageOf(record) <= toldWithin || presentOf(record.state).kind === 'unverified';
  const mayDiffer = late.filter((record) => !isOutOfReach(record, now) && isLately(record));
  return { silent, mayDiffer: new Set(mayDiffer.map(({ id }) => id)) };
}

/**
 * @param origin of a server that comes back under another ID, as those before 1.28 do: the server that had its address counts
 * @returns when the server was last asked and heard to be as the snapshot had it
 */
export function provenAt(
  records: ReadonlyMap<string, ServerRecord>,
  id: string,
  origin: string | undefined,
): number | undefined {
  const own = records.get(id)?.provenAt;
  if (own !== undefined || origin === undefined) return own;
  const there = [...records.values()].filter(({ destination }) => destination?.origin === origin);
  const times = there.flatMap((record) => record.provenAt ?? []);
  return times.length === 0 ? undefined : Math.max(...times);
}

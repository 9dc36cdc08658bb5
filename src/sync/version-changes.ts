import { minorVersion } from '../apimachinery/server-version.ts';
import { parseRfc3339 } from '../runtime/time.ts';
import { addressOf } from '../snapshot/addresses/addresses.ts';
import type { Snapshot, SnapshotServer, VersionChange } from '../snapshot/format/schema.ts';
import type { SeenStart, ServerDescription } from './sync-server.ts';

/**
 * How long after a server has acquired its Lease its version begins to count, milliseconds. All who watch Leases have read
 * it by then, and its schemas as well, mostly: they change the preferred version at the same instant.
 */
const countsAfter = 10_000;
/**
 * How long after a server became ready its version counts at the earliest, milliseconds. A server that starts slowly has its
 * Lease long before. Those who watch see it ready some tenths of a second apart: requests wait for that long
 * (`untilVersionSettles`).
 */
const countsAfterReady = 5_000;
/** How long after a new process has acquired the Lease it may be noticed that the server was lost, milliseconds. */
const noticedWithin = 5_000;
/** How long a server that says nothing after it has acquired its Lease is taken for one that starts, milliseconds. */
const longestStart = 60_000;
/** How long a change that counts stays in the snapshot, milliseconds: the clocks of routers differ. */
const keptFor = 60_000;

/**
 * The changes of versions of the last minute, each with the instant at which it begins to count. Pure.
 *
 * The instant follows from the Lease of the server, which is the same for all who read it, be it one sync job or each router
 * by itself. Where there is none, or one from the future, it follows from when the change was noticed.
 * @param now milliseconds since the epoch
 * @param starts the last start of each server that was lost, by ID
 */
export function versionChanges(
  previous: Snapshot | undefined,
  servers: readonly SnapshotServer[],
  descriptions: readonly ServerDescription[],
  now: number,
  starts: ReadonlyMap<string, SeenStart> = new Map(),
): readonly VersionChange[] {
  if (previous === undefined) return [];
  const acquired = new Map(descriptions.map(({ id, acquiredAt }) => [id, acquiredAt]));
  const earliest = (id: string) =>
    (readyAtOf(starts.get(id), acquired.get(id)) ?? Number.NEGATIVE_INFINITY) + countsAfterReady;
  const kept = (previous.metadata.versionChanges ?? [])
    .filter(({ at }) => now < (parseRfc3339(at) ?? 0) + keptFor)
    .map((change) => byItsLease(change, acquired.get(change.server), earliest(change.server), now));
  const readAt = parseRfc3339(previous.metadata.createdAt) ?? now;
  const before = new Map(previous.servers.map((server) => [server.id, server]));
  const after = new Map(servers.map((server) => [server.id, server]));
  const added = servers.filter(({ id }) => !before.has(id));
  const changes = [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((id) => {
    const [from, to] = [before.get(id), after.get(id)].map((server) => minorVersion(server?.version));
    if (from === to) return [];
    // One that another has replaced leaves when that one comes.
    const by = after.has(id) ? id : (added.find((server) => isAt(server, before.get(id)))?.id ?? id);
    const leasedAt = acquired.get(by) ?? now;
    // A Lease from long before the server was lost, or before its last version was read, is the Lease of the process before.
    // The Lease of the new process has not been seen yet.
    const start = starts.get(by);
    const isOfBefore = leasedAt + countsAfter < (start?.wasSeen === true ? start.lostAt : readAt);
    const at = Math.max((isOfBefore ? now : Math.min(leasedAt, now)) + countsAfter, earliest(by));
    return [
      {
        server: id,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        at: new Date(at).toISOString(),
      },
    ];
  });
  const all = [...kept, ...changes.filter(({ at }) => now < Date.parse(at) + keptFor)];
  const minors = new Set([...all.flatMap(({ from, to }) => [from, to]), ...servers.map(minorOf)]);
  minors.delete(undefined);
  return minors.size > 1 ? all : [];
}

/**
 * When a server became ready, for all who lost it. A busy one may be silent until then. One that was silent and has its old
 * Lease, or has had its new one for long, was out of reach of this process alone, and ready long before.
 */
function readyAtOf(start: SeenStart | undefined, acquired: number | undefined): number | undefined {
  if (start === undefined || start.wasSeen) return start?.readyAt;
  const hasJustStarted =
    acquired !== undefined &&
    acquired >= start.lostAt - noticedWithin &&
    start.readyAt - acquired < longestStart;
  return hasJustStarted ? start.readyAt : undefined;
}

/** Whoever noticed the change before the Lease of the new process takes the instant of that Lease, as all others do. */
function byItsLease(
  change: VersionChange,
  acquired: number | undefined,
  earliest: number,
  now: number,
): VersionChange {
  const at = parseRfc3339(change.at) ?? 0;
  if (acquired === undefined || at <= now) return change;
  const noticed = at - countsAfter;
  const leased = acquired + countsAfter;
  const next = Math.max(leased, earliest);
  return leased > noticed && next < at ? { ...change, at: new Date(next).toISOString() } : change;
}

function minorOf({ version }: SnapshotServer): string | undefined {
  return minorVersion(version);
}

function isAt(server: SnapshotServer, other: SnapshotServer | undefined): boolean {
  if (other === undefined) return false;
  const [address, otherAddress] = [addressOf(server), addressOf(other)];
  if (address !== undefined && address === otherAddress) return true;
  return server.hostname !== undefined && server.hostname === other.hostname;
}

import { areSeveralVersions, countedVersionOf, mayBeOneVersion } from '../apimachinery/server-version.ts';
import { versionSettlesFor } from '../routing/preferred-version.ts';
import { parseRfc3339 } from '../runtime/time.ts';
import { addressOf } from '../snapshot/addresses/addresses.ts';
import type { Snapshot, SnapshotServer, VersionChange } from '../snapshot/format/schema.ts';
import type { Acquisition, SeenStart, ServerDescription } from './sync-server.ts';

/**
 * How long after a server has acquired its Lease its version begins to count, milliseconds. All who watch Leases have read
 * it by then, and its schemas as well, mostly: they change the preferred version at the same instant.
 */
const countsAfter = 10_000;
/**
 * How long after a server became ready its version counts at the earliest, milliseconds. A server that starts slowly has its
 * Lease long before. Those who watch see it ready some tenths of a second apart, and seconds on a busy machine.
 */
const countsAfterReady = 5_000;
/** How long a change that counts stays in the snapshot, milliseconds: the clocks of routers differ. */
const keptFor = 60_000;

/**
 * The changes of versions of the last minute, each with the instant at which it begins to count, and the one from which on
 * it may count for somebody else who reads the cluster. Pure.
 *
 * The instant follows from the Lease of the server, which is the same for all who read it, be it one sync job or each router
 * by itself, and from when the server became ready, which each sees for itself. Of both this process knows a latest time
 * that is right and an earliest one that is possible, and so nobody else can be earlier than `waitFrom` says. Where there
 * is no Lease, or one from the future, the instant follows from when the change was noticed.
 * @param now milliseconds since the epoch
 * @param starts the last start of each server, by ID; one that is not in it started while this process did not run
 */
export function versionChanges(
  previous: Snapshot | undefined,
  servers: readonly SnapshotServer[],
  descriptions: readonly ServerDescription[],
  now: number,
  starts: ReadonlyMap<string, SeenStart> = new Map(),
): readonly VersionChange[] {
  if (previous === undefined) return [];
  const acquired = new Map(descriptions.map((each) => [each.id, each.acquired]));
  const readAt = parseRfc3339(previous.metadata.createdAt) ?? now;
  const startOf = (id: string): Start => {
    const { notReadyAt = readAt, ...start } = starts.get(id) ?? { lostAt: readAt, readyAt: now };
    return { ...start, notReadyAt };
  };
  const kept = (previous.metadata.versionChanges ?? [])
    .filter(({ at }) => now < (parseRfc3339(at) ?? 0) + keptFor)
    .map((change) => byItsLease(change, acquired.get(change.server), startOf(change.server), now));
  const before = new Map(previous.servers.map((server) => [server.id, server]));
  const after = new Map(servers.map((server) => [server.id, server]));
  const added = servers.filter(({ id }) => !before.has(id));
  const changes = [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((id) => {
    const [from, to] = [before.get(id), after.get(id)].map((server) => server && countedVersionOf(server));
    if (mayBeOneVersion(from, to)) return [];
    // One that another has replaced leaves when that one comes.
    const by = after.has(id) ? id : (added.find((server) => isAt(server, before.get(id)))?.id ?? id);
    const span = after.has(by) ? spanOf(acquired.get(by), startOf(by), now) : { at: now + countsAfter };
    return [
      {
        server: id,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        ...texts(span),
      },
    ];
  });
  const all = [...kept, ...changes.filter(({ at }) => now < Date.parse(at) + keptFor)];
  const versions = [...all.flatMap(({ from, to }) => [from, to]), ...servers.map(countedVersionOf)];
  return areSeveralVersions(versions) ? all : [];
}

type Start = SeenStart & { readonly notReadyAt: number };

/** When a change counts, and from when on it may for somebody else. Milliseconds since the epoch. */
interface Span {
  readonly at: number;
  readonly waitFrom?: number;
}

function spanOf(acquired: Acquisition | undefined, start: Start, now: number): Span {
  const { notReadyAt, readyAt } = start;
  // Nobody else has a Lease to go by.
  if (acquired === undefined) {
    return { at: now + countsAfter, waitFrom: notReadyAt + countsAfter - versionSettlesFor };
  }
  const ready = { from: notReadyAt + countsAfterReady, at: readyAt + countsAfterReady };
  // The Lease of the new process has not been seen yet. Or it is from the future, though not by the clocks of others.
  if (isOfBefore(acquired, start) || acquired.at > now + versionSettlesFor) {
    return { at: now + countsAfter, waitFrom: ready.from - versionSettlesFor };
  }
  return {
    at: Math.max(acquired.at + countsAfter, ready.at),
    waitFrom: Math.max(acquired.from + countsAfter, ready.from) - versionSettlesFor,
  };
}

/** Whether it is the Lease of the process before: from long before the server was lost. */
function isOfBefore(acquired: Acquisition, { lostAt }: Start): boolean {
  return acquired.at + countsAfter < lostAt;
}

/** Whoever noticed the change before the Lease of the new process takes the instant of that Lease, as all others do. */
function byItsLease(
  change: VersionChange,
  acquired: Acquisition | undefined,
  start: Start,
  now: number,
): VersionChange {
  const at = parseRfc3339(change.at) ?? 0;
  const noticedAt = at - countsAfter;
  if (at <= now || acquired === undefined || acquired.at + countsAfter <= noticedAt) return change;
  const span = spanOf(acquired, start, now);
  // Who waits for it already goes on waiting.
  return span.at < at ? { ...change, ...texts({ at: span.at }) } : change;
}

function texts({ at, waitFrom }: Span): Pick<VersionChange, 'at' | 'waitFrom'> {
  return {
    at: new Date(at).toISOString(),
    ...(waitFrom === undefined ? {} : { waitFrom: new Date(waitFrom).toISOString() }),
  };
}

function isAt(server: SnapshotServer, other: SnapshotServer | undefined): boolean {
  if (other === undefined) return false;
  const [address, otherAddress] = [addressOf(server), addressOf(other)];
  if (address !== undefined && address === otherAddress) return true;
  return server.hostname !== undefined && server.hostname === other.hostname;
}

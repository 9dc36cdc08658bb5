import { areSeveralVersions, countedVersionOf, mayBeOneVersion } from '../apimachinery/server-version.ts';
import { parseRfc3339 } from '../runtime/time.ts';
import { addressOf } from '../snapshot/addresses/addresses.ts';
import type { Snapshot, SnapshotServer, VersionChange } from '../snapshot/format/schema.ts';
import { countsAfter, versionSettlesFor } from '../snapshot/routing-table/version-instants.ts';
import type { SeenStart } from './documents/sync-server.ts';

/** How long a change that counts stays in the snapshot, milliseconds: a router that missed a snapshot has it from a later one. */
const keptFor = 60_000;

/** One moment by both clocks, and what this reader knows of the time before. */
export interface ChangeMoment {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Milliseconds of a clock that only rises. */
  readonly monotonic: number;
  /** Milliseconds by which the clock of `now` was set ahead since the last snapshot was made. Default 0. */
  readonly set?: number;
  /** False: no server can be read, and nothing is forgotten. A snapshot without it would be as young as one that was read. */
  readonly isRead?: boolean;
  /** False: of one of the servers nothing is known, and others may go by its version. Default true. */
  readonly isWhole?: boolean;
}

/** Less than this is how clocks run, milliseconds: what is kept moves by none of it. */
const clockNoise = 100;

/** Milliseconds by which the clock of `now` was set ahead between two moments. Pure. */
export function settingBetween(before: ChangeMoment | undefined, { now, monotonic }: ChangeMoment): number {
  const set = before === undefined ? 0 : now - before.now - (monotonic - before.monotonic);
  return Math.abs(set) < clockNoise ? 0 : set;
}

/**
 * The changes of versions of the last minute, each with the instant at which it counts, and the one from which on it may count
 * for somebody else who reads the cluster. Pure.
 *
 * Both follow from when the server became ready, which each reader sees for itself between two questions: nobody has known it
 * before the first of them was asked, and this reader knows it since the second was answered. So no clock is compared with
 * another one's: the times in the snapshot say how far they lie behind its own making, and no more.
 * @param starts the last start of each server, by ID; one that is not in it started while this process did not run
 */
export function versionChanges(
  previous: Snapshot | undefined,
  servers: readonly SnapshotServer[],
  moment: ChangeMoment,
  starts: ReadonlyMap<string, SeenStart> = new Map(),
): readonly VersionChange[] {
  const { now, monotonic } = moment;
  const ahead = (milliseconds: number) => new Date(now + milliseconds).toISOString();
  const untilItCounts = (by: string) =>
    (starts.get(by)?.readyAt ?? monotonic) - monotonic + countsAfter + versionSettlesFor;
  // Without one of before each server may have changed a moment ago, and others may go by what it was.
  const before = new Map(previous?.servers.map((server) => [server.id, server]));
  if (previous === undefined) {
    if (moment.isWhole !== false && !areSeveralVersions(servers.map(countedVersionOf))) return [];
    const at = ahead(Math.max(...servers.map(({ id }) => untilItCounts(id))));
    return servers.flatMap((server) => {
      const to = countedVersionOf(server);
      return to === undefined ? [] : [{ server: server.id, to, at, waitFrom: ahead(0) }];
    });
  }
  const after = new Map(servers.map((server) => [server.id, server]));
  const successors = successorsOf(previous, before, servers);
  const kept = keptChanges(previous, moment, successors);
  const changes = [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((id) => {
    const [from, to] = [before.get(id), after.get(id)].map((server) => server && countedVersionOf(server));
    const isRenamed = successors.has(id) || [...successors.values()].includes(id);
    const isAfterUnread = starts.get(id)?.isAfterUnread === true && after.get(id)?.stale !== true;
    const isNew = isAfterUnread && !kept.some(({ server, from }) => server === id && from === undefined);
    if (isRenamed || (mayBeOneVersion(from, to) && !isNew)) return [];
    // One that another has replaced leaves when that one comes, or has come.
    const by = after.has(id)
      ? id
      : (servers.find((server) => isAt(server, before.get(id), !before.has(server.id)))?.id ?? id);
    const { notReadyAt } = starts.get(by) ?? {};
    const untilItMayCount = notReadyAt === undefined ? 0 : notReadyAt + countsAfter - monotonic;
    return [
      {
        server: id,
        // Another router may go by a version that the server had in between.
        ...(from === undefined || isAfterUnread ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        at: ahead(untilItCounts(by)),
        waitFrom: ahead(isAfterUnread ? 0 : untilItMayCount),
      },
    ];
  });
  const all: readonly VersionChange[] = [
    ...kept,
    ...changes.filter(({ at }) => now < Date.parse(at) + keptFor),
  ];
  // Where all servers are of one version again, another router may go by what counted a moment ago, or was never known here.
  const versions = [...servers.map(countedVersionOf), ...all.flatMap(({ from, to }) => [from, to])];
  return areSeveralVersions(versions) ? all : kept.filter(({ from }) => from === undefined);
}

/** Servers of before that go on under another ID: it is found later than the address of a server. @returns new ID by old one */
function successorsOf(
  { metadata }: Snapshot,
  before: ReadonlyMap<string, SnapshotServer>,
  servers: readonly SnapshotServer[],
): ReadonlyMap<string, string> {
  const ids = new Set(servers.map(({ id }) => id));
  const coming = new Set(
    (metadata.versionChanges ?? []).flatMap(({ server, from }) => (from === undefined ? server : [])),
  );
  const successors = new Map<string, string>();
  for (const [id, server] of before) {
    if (ids.has(id)) continue;
    const version = countedVersionOf(server);
    // One that has counted beside it is another server.
    const successor = servers
      .filter((other) => !before.has(other.id) || coming.has(other.id))
      .find((other) => isAt(other, server, !before.has(other.id)));
    const isSame = successor !== undefined && mayBeOneVersion(version, countedVersionOf(successor));
    if (isSame) successors.set(id, successor.id);
  }
  return successors;
}

/** Changes that were told before, by the clock of now, under the IDs of now. */
function keptChanges(
  { metadata }: Snapshot,
  { now, set = 0, isRead = true }: ChangeMoment,
  successors: ReadonlyMap<string, string>,
): readonly VersionChange[] {
  const moved = (text: string) =>
    set === 0 ? text : new Date((parseRfc3339(text) ?? 0) + set).toISOString();
  const renamed = new Set(successors.values());
  return (metadata.versionChanges ?? []).flatMap(({ server, at, waitFrom, ...change }) => {
    // That it came was said when it had two IDs.
    if (renamed.has(server) && change.from === undefined) return [];
    if (isRead && Math.abs(now - set - (parseRfc3339(at) ?? 0)) >= keptFor) return [];
    const kept = { server: successors.get(server) ?? server, ...change, at: moved(at) };
    return [waitFrom === undefined ? kept : { ...kept, waitFrom: moved(waitFrom) }];
  });
}

/** @param isNew it was not in the snapshot before: then one with the same host name takes the place of another */
function isAt(server: SnapshotServer, other: SnapshotServer | undefined, isNew: boolean): boolean {
  if (other === undefined) return false;
  const [address, otherAddress] = [addressOf(server), addressOf(other)];
  if (address !== undefined && address === otherAddress) return true;
  return isNew && server.hostname !== undefined && server.hostname === other.hostname;
}

import { areSeveralVersions, countedVersionOf, mayBeOneVersion } from '../apimachinery/server-version.ts';
import { parseRfc3339 } from '../runtime/time.ts';
import { addressOf } from '../snapshot/addresses/addresses.ts';
import type { Snapshot, SnapshotServer, VersionChange } from '../snapshot/format/schema.ts';
import { countsAfter, versionSettlesFor } from '../snapshot/routing-table/version-instants.ts';
import type { SeenStart } from './documents/sync-server.ts';

/** How long a change that counts stays in the snapshot, milliseconds: a router that missed a snapshot has it from a later one. */
const keptFor = 60_000;

/** One moment by both clocks. */
interface Now {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** Milliseconds of a clock that only rises. */
  readonly monotonic: number;
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
  { now, monotonic }: Now,
  starts: ReadonlyMap<string, SeenStart> = new Map(),
): readonly VersionChange[] {
  const kept = (previous?.metadata.versionChanges ?? []).filter(
    ({ at }) => Math.abs(now - (parseRfc3339(at) ?? 0)) < keptFor,
  );
  // Without one of before each server may have changed a moment ago, and others may go by what it was.
  const before = new Map(previous?.servers.map((server) => [server.id, server]));
  const after = new Map(servers.map((server) => [server.id, server]));
  const text = (ago: number) => new Date(now - ago).toISOString();
  const changes = [...new Set([...before.keys(), ...after.keys()])].sort().flatMap((id) => {
    const [from, to] = [before.get(id), after.get(id)].map((server) => server && countedVersionOf(server));
    if (mayBeOneVersion(from, to)) return [];
    // One that another has replaced leaves when that one comes, or has come.
    const by = after.has(id)
      ? id
      : (servers.find((server) => isAt(server, before.get(id), !before.has(server.id)))?.id ?? id);
    const { readyAt = monotonic, notReadyAt } = starts.get(by) ?? {};
    const mayCountAgo = notReadyAt === undefined ? 0 : monotonic - notReadyAt - countsAfter;
    return [
      {
        server: id,
        ...(from === undefined ? {} : { from }),
        ...(to === undefined ? {} : { to }),
        at: text(monotonic - readyAt - countsAfter - versionSettlesFor),
        waitFrom: text(mayCountAgo),
      },
    ];
  });
  // Where all servers are of one version, nobody can go by another one, whatever counted a moment ago.
  if (!areSeveralVersions(servers.map(countedVersionOf))) return [];
  return [...kept, ...changes.filter(({ at }) => now < Date.parse(at) + keptFor)];
}

/** @param isNew it was not in the snapshot before: then one with the same host name takes the place of another */
function isAt(server: SnapshotServer, other: SnapshotServer | undefined, isNew: boolean): boolean {
  if (other === undefined) return false;
  const [address, otherAddress] = [addressOf(server), addressOf(other)];
  if (address !== undefined && address === otherAddress) return true;
  return isNew && server.hostname !== undefined && server.hostname === other.hostname;
}

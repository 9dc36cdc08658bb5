import type { AddressSource, Snapshot, SnapshotApiService } from '../format/schema.ts';
import type { TimedChange } from './version-instants.ts';

/**
 * The state of a server that gets no requests before it is known what it serves (`ServerState`).
 *
 * `restarting`: it has ended, or does not say that it is ready. `unverified`: it is ready, and another process runs it, or may,
 * than the process whose resources the snapshot has. `unready`, `unreachable`: it has been away for long, and serves nothing.
 */
export type MissingKnowledge = 'restarting' | 'unverified' | 'unready' | 'unreachable';

/** @returns true if a server may serve in a moment what nobody is known to serve */
export function mayComeBack(missing: MissingKnowledge | undefined): boolean {
  return missing === 'restarting' || missing === 'unverified';
}

export interface RoutingServer {
  readonly id: string;
  /** `https://host:port`; `undefined` when the snapshot has no usable address, or it has departed. */
  readonly origin: string | undefined;
  /** Where `origin` comes from: `advertised` by the router in front of it. `undefined`: none, or unknown. */
  readonly addressSource?: AddressSource | 'advertised' | undefined;
  readonly serverName: string;
  readonly version: string | undefined;
  /**
   * The version that it is counted as, by what it does: `1.36`, `1.36 emulating 1.35`, or where servers of one version differ
   * `1.36, feature gates 1f0c77aa`. `undefined` when the version is not known.
   */
  readonly minor: string | undefined;
  /** A digest of them. Left out: not known. */
  readonly featureGates?: string | undefined;
  readonly stale: boolean;
  /** True if the server has left and may come back; `origin` is `undefined` meanwhile. */
  readonly departed: boolean;
  /** Left out: it is known. */
  readonly missing?: MissingKnowledge | undefined;
}

/** Servers of one thing. The fields are made once, with the table. */
export interface ServedBy {
  readonly serverIds: ReadonlySet<string>;
  /** All of them, in the order of their IDs. */
  readonly servers: readonly RoutingServer[];
  /** Members of `servers` that have an address and are known. */
  readonly reachable: readonly RoutingServer[];
  /**
   * The same servers by version, in the order in which they are to serve requests where the versions differ and `preferred`
   * is the one to be shown: it, then newer ones, the nearest first, then older ones, the nearest first; a server of
   * unknown version last. A newer version keeps every field of an older one, an older one may lose some.
   * @param preferred a version; it need not be among them
   */
  byPreference(preferred: string): readonly ServersOfVersion[];
}

/** Servers of one version (`RoutingServer.minor`); never none. */
export interface ServersOfVersion extends Pick<ServedBy, 'serverIds' | 'reachable'> {
  /** `undefined`: their version is not known. */
  readonly minor: string | undefined;
}

/** Servers of a resource, and of its subresources. */
export interface ResourceRoute extends ServedBy {
  /**
   * Served by several versions that understand it differently (another schema, or another storage version), or whose
   * schemas are not compared yet.
   */
  readonly differs: boolean;
  /** Servers of its `subresource`; `undefined` when there is none. */
  subresource(name: string): ServedBy | undefined;
}

/**
 * From this age on a snapshot is told to be old, milliseconds: the sync job renews it every minute. It is used all the
 * same, however old: what was known is better than nothing.
 */
export const oldSnapshotAge = 15 * 60_000;

/** True if nobody has renewed the snapshot for long. @param now milliseconds since the epoch */
export function isOld({ createdAt }: Pick<RoutingTable, 'createdAt'>, now: number): boolean {
  return now - createdAt >= oldSnapshotAge;
}

/** A snapshot indexed for lookup. Immutable; a newer one replaces it whole, in one assignment. */
export interface RoutingTable {
  readonly snapshot: Snapshot;
  readonly generation: number;
  /** When the snapshot was made or last renewed, milliseconds since the epoch. */
  readonly createdAt: number;
  readonly servers: readonly RoutingServer[];
  readonly reachable: readonly RoutingServer[];
  /** All servers of custom resources. */
  readonly everyServer: ServedBy;
  /** True if what each server serves is known, be it nothing: else a thing without a known server may exist. */
  readonly isEveryServerKnown: boolean;
  /** `undefined` when all servers are of one version. */
  readonly comparison: VersionComparison | undefined;
  /** Changes of versions of the last minute. */
  readonly changes: readonly TimedChange[];
  /**
   * The version that documents speak for where servers describe a thing differently (`ledByPreference`). Left out: the
   * newest one.
   */
  readonly leadingMinor?: string | undefined;
  server(id: string): RoutingServer | undefined;
  /** A few map reads for what has been asked for before. */
  resource(group: string, version: string, resource: string): ResourceRoute | undefined;
  /** The APIService of a group version, if it is backed by a service (an extension API server). */
  extension(group: string, version: string): SnapshotApiService | undefined;
  isCustomResource(group: string, version: string): boolean;
}

export interface MinorVersions {
  /** The one that most servers have, stale and departed ones too, so that a restart moves nothing; the newer when equal. */
  readonly majority: string;
  readonly newest: string;
  readonly oldest: string;
  readonly minors: readonly string[];
}

interface VersionsBefore extends MinorVersions {
  /** By the clock of `RoutingTable.changes`; the first one begins at `-Infinity`. */
  readonly from: number;
  readonly until: number;
  /** IDs of servers that have become another version, or come back to one, and do not count as that until then. */
  readonly uncounted: ReadonlySet<string>;
  /** Those of them whose change another router may not know yet. */
  readonly untold: ReadonlySet<string>;
  /**
   * The versions that another router may go by meanwhile. `undefined`: no server counts, or nobody knows; the versions of now
   * stand here then.
   */
  readonly others: readonly (MinorVersions | undefined)[] | undefined;
}

/** The minor versions of a cluster that has several. Of the snapshot alone: every router that has it says the same. */
export interface VersionComparison extends MinorVersions {
  /**
   * The versions that count until changes of a moment ago do (`RoutingTable.changes`), the soonest first.
   */
  readonly before: readonly VersionsBefore[];
  /** True if the schemas of all servers have been read. Resources that are not compared yet count as different. */
  readonly isComplete: boolean;
  /** Some servers lack kinds of admission policies: writes through those servers escape the policies. */
  readonly enforcementDiffers: boolean;
}

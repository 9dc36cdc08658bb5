import type { AddressSource, Snapshot, SnapshotApiService } from '../format/types.ts';

/** One API server, ready for routing. */
export interface RoutingServer {
  readonly id: string;
  /** `https://host:port`; `undefined` when the snapshot has no usable address. */
  readonly origin: string | undefined;
  /** Where `origin` comes from: `advertised` by the router in front of it. `undefined`: there is none, or nobody said. */
  readonly addressSource?: AddressSource | 'advertised' | undefined;
  readonly serverName: string;
  readonly version: string | undefined;
  readonly stale: boolean;
  /** It has left and may come back: `origin` is `undefined`, whatever its address was. */
  readonly departed: boolean;
}

/** Who serves one thing. Both fields are made once, with the table. */
export interface ServedBy {
  readonly serverIds: ReadonlySet<string>;
  /** All of them, in the order of their IDs. */
  readonly servers: readonly RoutingServer[];
  /** Those of `servers` that have an address. */
  readonly reachable: readonly RoutingServer[];
}

/** Who serves a resource, and who serves its subresources. */
export interface ResourceRoute extends ServedBy {
  /** Who serves `subresource` of it; `undefined` when no server does. */
  subresource(name: string): ServedBy | undefined;
}

/** Whether `table` is past its lifetime. @param now milliseconds since the epoch */
export function isExpired(table: Pick<RoutingTable, 'expiresAt'> | undefined, now: number): boolean {
  return table !== undefined && now >= table.expiresAt;
}

/** A snapshot indexed for lookup. Immutable; a newer one replaces it whole, in one assignment. */
export interface RoutingTable {
  readonly snapshot: Snapshot;
  readonly generation: number;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Milliseconds since the epoch; `createdAt` plus the lifetime. */
  readonly expiresAt: number;
  readonly servers: readonly RoutingServer[];
  /** Those of `servers` that have an address. */
  readonly reachable: readonly RoutingServer[];
  server(id: string): RoutingServer | undefined;
  /** Constant time, allocates nothing. */
  resource(group: string, version: string, resource: string): ResourceRoute | undefined;
  /** The APIService of a group version, if it is backed by a service (an extension API server). */
  extension(group: string, version: string): SnapshotApiService | undefined;
  isCustomResource(group: string, version: string): boolean;
}

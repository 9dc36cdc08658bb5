import type { ApiEndpoint } from './api-endpoints.ts';
import type { IdentityLease } from './identity-lease.ts';
import type { ServerDescription } from './sync-server.ts';

/** A server that was found, not listed by hand. */
export interface FoundServer extends ServerDescription {
  /** From its identity Lease; it changes with each process. */
  readonly holderIdentity?: string | undefined;
  /** Since when nothing names it and it cannot be read, by the monotonic clock. */
  readonly missingSince?: number | undefined;
  /** Of a departed server: since when something names it again, by the monotonic clock. */
  readonly namedSince?: number | undefined;
}

export interface ClusterInput {
  readonly listed: readonly ServerDescription[];
  /** `undefined` until the first list. */
  readonly leases: readonly IdentityLease[] | undefined;
  /** `undefined` until the first list. */
  readonly endpoints: readonly ApiEndpoint[] | undefined;
  /** IDs that belong to an endpoint's host names, by its address. */
  readonly endpointServerIds: ReadonlyMap<string, readonly string[]>;
  /** Whether StorageVersions say what a server serves. */
  readonly hasStorageVersions: (id: string) => boolean;
  /** Whether the last read of a server succeeded; `undefined` before the first. */
  readonly isReadable: (id: string) => boolean | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly monotonic: number;
  /** How long a server is kept that nothing names and that cannot be read: it may only be restarting. */
  readonly departureMilliseconds: number;
  /** How long the resources of a departed server stay known. 0: not at all. */
  readonly graceMilliseconds: number;
  /** Whether Leases and endpoints are up to date. While they are not, no grace period ends. */
  readonly isUpToDate: boolean;
}

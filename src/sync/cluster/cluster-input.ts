import type { ApiEndpoint } from './api-endpoints.ts';
import type { IdentityLease } from './identity-lease.ts';
import type { ServerDescription } from './sync-server.ts';

/** A server that was found, not listed by hand. */
export interface FoundServer extends ServerDescription {
  /** Of its identity Lease: another one is another process. */
  readonly holderIdentity?: string | undefined;
  /** Since when nothing names it and it does not answer, by the monotonic clock. */
  readonly missingSince?: number | undefined;
  /** While it has departed: since when something names it again, by the monotonic clock. */
  readonly namedSince?: number | undefined;
}

export interface ClusterInput {
  readonly listed: readonly ServerDescription[];
  /** `undefined` until they could be listed. */
  readonly leases: readonly IdentityLease[] | undefined;
  /** `undefined` until they could be listed. */
  readonly endpoints: readonly ApiEndpoint[] | undefined;
  /** IDs that an endpoint's host names lead to, by its address. */
  readonly endpointServerIds: ReadonlyMap<string, readonly string[]>;
  /** Whether StorageVersions tell what a server serves. */
  readonly hasStorageVersions: (id: string) => boolean;
  /** Whether a server answered when it was last read; `undefined` while it was not. */
  readonly answered: (id: string) => boolean | undefined;
  /** Milliseconds since the epoch. */
  readonly now: number;
  readonly monotonic: number;
  /** A server that nothing names and that does not answer is kept this long: it may only be restarting. */
  readonly departureMilliseconds: number;
  /** How long what a departed server served stays known. 0: it does not. */
  readonly graceMilliseconds: number;
  /** Whether Leases and endpoints are as the cluster has them now. While they are not, no grace ends. */
  readonly isUpToDate: boolean;
}

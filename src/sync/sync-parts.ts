import type { Logger } from '../runtime/logger.ts';
import type { Clock } from '../runtime/time.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { SigningKey } from '../snapshot/signing/seal.ts';
import type { PeerAddresses } from './advertised-addresses.ts';
import type { SnapshotTarget } from './deliver.ts';
import type { SyncObserver } from './documents/sync-server.ts';
import type { SyncTiming } from './documents/timing.ts';
import type { ClusterSource } from './reading/cluster-source.ts';

/** Parts of a sync job: open connections, keys, and everything that tests replace. */
export interface SyncParts {
  readonly clusterSource: ClusterSource;
  readonly targets: readonly SnapshotTarget[];
  readonly signingKey?: SigningKey | undefined;
  /** The last snapshot of an earlier run, with the known resources and the generation to start from. */
  readonly previous?: Snapshot | undefined;
  readonly advertised?: PeerAddresses | undefined;
  readonly observer?: SyncObserver | undefined;
  /**
   * True if the schemas of servers with one minor version are read, too, to compare them with another cluster's.
   * Default false.
   */
  readonly alwaysReadsSchemas?: boolean | undefined;
  readonly cluster?: string | undefined;
  readonly timing?: Partial<SyncTiming> | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

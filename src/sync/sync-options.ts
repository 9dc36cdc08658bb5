import { type Logger, silentLogger } from '../runtime/logger.ts';
import { type Clock, type SteadyClock, steadyClock, systemClock } from '../runtime/time.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { SigningKey } from '../snapshot/signing/seal.ts';
import type { ClusterSource } from './cluster/cluster-source.ts';
import type { SyncServer } from './cluster/sync-server.ts';
import type { AdvertisedAddresses } from './content/advertised-addresses.ts';
import type { SnapshotOptions } from './content/build-snapshot.ts';
import type { SnapshotTarget } from './delivery/deliver.ts';
import type { SyncObserver } from './delivery/sync-observer.ts';
import type { DeliveryTiming } from './delivery/target-delivery.ts';
import type { ReadTiming } from './servers/server-readers.ts';

/** Milliseconds, unless a name says otherwise. */
export interface SyncTiming extends ReadTiming, DeliveryTiming {
  /** Between rounds, give or take a tenth. Default 1,000. */
  readonly interval: number;
  /**
   * Between rounds while nothing changes and every server can be read, give or take a tenth. Default: `interval`. Events
   * of watches start a round earlier.
   */
  readonly restInterval?: number | undefined;
  /** How long a round waits for slow servers; their readings count in a later round. Default 2,000. */
  readonly longestWait: number;
  /**
   * How often APIServices, CustomResourceDefinitions and the Services of APIServices are read without watches. The first
   * two are also read when discovery changes. Default 30,000.
   */
  readonly sharedObjectsRefresh: number;
  /** Between renewals of an unchanged snapshot, at the end of a round. Default 60,000. */
  readonly renewal: number;
  /** From an event of a watch to the next round, because changes come in bursts. Default 50. */
  readonly settle: number;
}

export const defaultTiming: SyncTiming = {
  interval: 1_000,
  readTimeout: 15_000,
  longestWait: 2_000,
  sharedObjectsRefresh: 30_000,
  readBackOff: { initialMilliseconds: 400, maximumMilliseconds: 800 },
  deliveryBackOff: { initialMilliseconds: 250, maximumMilliseconds: 750 },
  refusalBackOff: { initialMilliseconds: 500, maximumMilliseconds: 10_000 },
  check: 500,
  confirm: 30_000,
  renewal: 60_000,
  settle: 50,
  concurrentServers: 16,
  concurrentDocuments: 8,
};

export interface SyncOptions {
  /** Listed by hand. With `clusterSource` it may be empty. */
  readonly servers: readonly SyncServer[];
  /** Finds servers, in addition to `servers`. */
  readonly clusterSource?: ClusterSource | undefined;
  readonly targets: readonly SnapshotTarget[];
  /** Without it snapshots are not signed, and only files accept them. */
  readonly signingKey?: SigningKey | undefined;
  /** The last snapshot of an earlier run, with the known resources and the generation to start from. */
  readonly previous?: Snapshot | undefined;
  /** The addresses that routers advertise. Default: none are used. */
  readonly advertised?: AdvertisedAddresses | undefined;
  readonly observer?: SyncObserver | undefined;
  /** Whether to read the schemas of servers with one minor version, too, to compare them with another cluster's. Default false. */
  readonly alwaysReadsSchemas?: boolean | undefined;
  readonly snapshot?: SnapshotOptions | undefined;
  readonly timing?: Partial<SyncTiming> | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** The options with their defaults. */
export interface ResolvedSyncOptions extends SyncOptions {
  readonly timing: SyncTiming;
  readonly clock: SteadyClock;
  readonly logger: Logger;
}

/** @throws {TypeError} naming every error: no server, an ID twice, both address and url. */
export function resolveSyncOptions(options: SyncOptions): ResolvedSyncOptions {
  const issues: string[] = [];
  const ids = new Set<string>();
  for (const { id, address, url } of options.servers) {
    if (ids.has(id)) issues.push(`server ${id} is listed twice`);
    ids.add(id);
    if (address !== undefined && url !== undefined) issues.push(`server ${id} has both address and url`);
  }
  if (ids.size === 0 && options.clusterSource === undefined) issues.push('there is no server to read');
  if (issues.length > 0) throw new TypeError(`The sync job cannot start: ${issues.join('; ')}.`);
  return {
    ...options,
    timing: {
      ...defaultTiming,
      ...options.timing,
    },
    clock: steadyClock(options.clock ?? systemClock),
    logger: options.logger ?? silentLogger,
  };
}

import { type Logger, silentLogger } from '../observe/logger.ts';
import type { SigningKey } from '../snapshot/signing-key.ts';
import type { Snapshot } from '../snapshot/types.ts';
import type { ServerDescription, SnapshotOptions } from './build-snapshot.ts';
import { type BackOff, type Clock, systemClock } from './clock.ts';
import type { SnapshotTarget } from './deliver.ts';
import type { ServerDocuments } from './document-reader.ts';

/** An API server that the sync job reads. */
export interface SyncServer extends ServerDescription {
  readonly documents: ServerDocuments;
}

/** Milliseconds, except where a name says otherwise. */
export interface SyncTiming {
  /** Between rounds, give or take a tenth. Default 1,000. */
  readonly interval: number;
  /** For the whole read of one server. Default 15,000. */
  readonly readTimeout: number;
  /** How long a round waits for slow servers; their answers then count in a later one. Default 2,000. */
  readonly patience: number;
  /** APIServices and CustomResourceDefinitions are read again this often, and when discovery changes. Default 30,000. */
  readonly sharedObjectsRefresh: number;
  /** Between reads of a server that fails. Default 1,000, doubling up to 30,000. */
  readonly readBackOff: BackOff;
  /** Between deliveries to a target that fails. Default 500, doubling up to 10,000. */
  readonly deliveryBackOff: BackOff;
  /** A target that holds the snapshot is handed it again this often, should it have lost it. Default 30,000. */
  readonly confirm: number;
  /** Servers read at once. Default 16. */
  readonly concurrentServers: number;
  /** Documents read at once from one server. Default 8. */
  readonly concurrentDocuments: number;
}

export const defaultTiming: SyncTiming = {
  interval: 1_000,
  readTimeout: 15_000,
  patience: 2_000,
  sharedObjectsRefresh: 30_000,
  readBackOff: { initialMilliseconds: 1_000, maximumMilliseconds: 30_000 },
  deliveryBackOff: { initialMilliseconds: 500, maximumMilliseconds: 10_000 },
  confirm: 30_000,
  concurrentServers: 16,
  concurrentDocuments: 8,
};

export interface SyncOptions {
  readonly servers: readonly SyncServer[];
  readonly targets: readonly SnapshotTarget[];
  /** Without it snapshots leave unsigned, which only files take. */
  readonly signingKey?: SigningKey | undefined;
  /** The last snapshot of an earlier run: what servers are known to serve, and the generation to go on from. */
  readonly previous?: Snapshot | undefined;
  readonly snapshot?: SnapshotOptions | undefined;
  readonly timing?: Partial<SyncTiming> | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** The options with every default in its place. */
export interface ResolvedSyncOptions extends SyncOptions {
  readonly timing: SyncTiming;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** @throws {TypeError} naming every fault: no server, an ID twice, both address and url. */
export function resolveSyncOptions(options: SyncOptions): ResolvedSyncOptions {
  const faults: string[] = [];
  const ids = new Set<string>();
  for (const { id, address, url } of options.servers) {
    if (ids.has(id)) faults.push(`server ${id} is listed twice`);
    ids.add(id);
    if (address !== undefined && url !== undefined) faults.push(`server ${id} has both address and url`);
  }
  if (ids.size === 0) faults.push('there is no server to read');
  if (faults.length > 0) throw new TypeError(`The sync job cannot start: ${faults.join('; ')}.`);
  return {
    ...options,
    timing: { ...defaultTiming, ...options.timing },
    clock: options.clock ?? systemClock,
    logger: options.logger ?? silentLogger,
  };
}

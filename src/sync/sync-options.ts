import { type BackOff, type Clock, systemClock } from '../runtime/clock.ts';
import { type Logger, silentLogger } from '../runtime/logger.ts';
import { type SteadyClock, steadyClock } from '../runtime/steady-clock.ts';
import type { Snapshot } from '../snapshot/format/types.ts';
import type { SigningKey } from '../snapshot/signing/signing-key.ts';
import type { ClusterSource } from './cluster/cluster-source.ts';
import type { SyncServer } from './cluster/sync-server.ts';
import type { AdvertisedAddresses } from './content/advertised-addresses.ts';
import type { SnapshotOptions } from './content/build-snapshot.ts';
import type { SnapshotTarget } from './delivery/deliver.ts';
import type { SyncObserver } from './delivery/observer.ts';
import { type Leadership, soleLeader } from './election/leadership.ts';

/** Milliseconds, except where a name says otherwise. */
export interface SyncTiming {
  /** Between rounds, give or take a tenth. Default 1,000. */
  readonly interval: number;
  /**
   * Between rounds while nothing changes and every server can be read, give or take a tenth. Default: as `interval`.
   * What the cluster tells by watches does not wait for it.
   */
  readonly restInterval?: number | undefined;
  /** For the whole read of one server. Default 15,000. */
  readonly readTimeout: number;
  /** How long a round waits for slow servers; their answers then count in a later one. Default 2,000. */
  readonly patience: number;
  /**
   * APIServices and CustomResourceDefinitions are read again this often, and when discovery changes; the Services that
   * APIServices name, this often. Default 30,000.
   */
  readonly sharedObjectsRefresh: number;
  /**
   * Between reads of a server that fails. Default 400, doubling up to 800: it is due again in the next round, as a
   * healthy one is, and a server that comes back counts from then on.
   */
  readonly readBackOff: BackOff;
  /**
   * Between deliveries to a target that cannot be reached. Default 250, doubling up to 750: a router that comes
   * late is to be served within a second, and an attempt that finds nobody costs next to nothing.
   */
  readonly deliveryBackOff: BackOff;
  /**
   * Between deliveries to a target that refuses them, and between attempts to overtake a newer generation: both
   * wait for somebody to change something. Default 500, doubling up to 10,000.
   */
  readonly refusalBackOff: BackOff;
  /** A router is asked this often whether it still holds the snapshot. Default 500. */
  readonly check: number;
  /** A target that cannot be asked is handed its snapshot again this often. Default 30,000. */
  readonly confirm: number;
  /** What the cluster tells is looked at this long after it was told, for changes come in bursts. Default 50. */
  readonly settle: number;
  /** How long a new leader waits for routers to tell what they hold. Default 2,000. */
  readonly adopt: number;
  /** Servers read at once. Default 16. */
  readonly concurrentServers: number;
  /** Documents read at once from one server. Default 8. */
  readonly concurrentDocuments: number;
  /** Classic documents read from one server in one round, for the versions that it stores at. Default: all there are. */
  readonly maximumHashDocuments: number;
  /** OpenAPI v3 documents read from all servers in one round, to compare schemas. Default: all there are. */
  readonly maximumSchemaDocuments: number;
}

export const defaultTiming: SyncTiming = {
  interval: 1_000,
  readTimeout: 15_000,
  patience: 2_000,
  sharedObjectsRefresh: 30_000,
  readBackOff: { initialMilliseconds: 400, maximumMilliseconds: 800 },
  deliveryBackOff: { initialMilliseconds: 250, maximumMilliseconds: 750 },
  refusalBackOff: { initialMilliseconds: 500, maximumMilliseconds: 10_000 },
  check: 500,
  confirm: 30_000,
  settle: 50,
  adopt: 2_000,
  concurrentServers: 16,
  concurrentDocuments: 8,
  maximumHashDocuments: Number.POSITIVE_INFINITY,
  maximumSchemaDocuments: Number.POSITIVE_INFINITY,
};

export interface SyncOptions {
  /** Listed by hand. With `clusterSource` it may be empty. */
  readonly servers: readonly SyncServer[];
  /** Finds servers, `servers` among them; without it those are all there are. */
  readonly clusterSource?: ClusterSource | undefined;
  readonly targets: readonly SnapshotTarget[];
  /** Without it snapshots leave unsigned, which only files take. */
  readonly signingKey?: SigningKey | undefined;
  /** The last snapshot of an earlier run: what servers are known to serve, and the generation to go on from. */
  readonly previous?: Snapshot | undefined;
  /** Where several sync jobs run: whether this one delivers. Those that do not read all the same. Default: always. */
  readonly leadership?: Leadership | undefined;
  /**
   * The newest snapshot that targets hold, `undefined` where none is known: what a new leader goes on from.
   * @throws when `signal` aborts
   */
  readonly adopt?: ((signal: AbortSignal) => Promise<Snapshot | undefined>) | undefined;
  /** Where routers say that peers should call them. Default: nobody is asked. */
  readonly advertised?: AdvertisedAddresses | undefined;
  readonly observer?: SyncObserver | undefined;
  /**
   * Whether the Services of APIServices are looked up, for routers that go straight to extension API servers. Default
   * true; false where no router can.
   */
  readonly resolvesServices?: boolean | undefined;
  /**
   * Whether servers of several minor versions are asked how they understand what they serve. Default true; false while
   * there are routers that refuse a snapshot which tells it; `always`: servers of one minor version too, for a comparison
   * with those of another cluster.
   */
  readonly comparesSchemas?: boolean | 'always' | undefined;
  readonly snapshot?: SnapshotOptions | undefined;
  readonly timing?: Partial<SyncTiming> | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** The options with every default in its place. */
export interface ResolvedSyncOptions extends SyncOptions {
  readonly timing: SyncTiming;
  readonly clock: SteadyClock;
  readonly logger: Logger;
  readonly leadership: Leadership;
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
  if (ids.size === 0 && options.clusterSource === undefined) faults.push('there is no server to read');
  if (faults.length > 0) throw new TypeError(`The sync job cannot start: ${faults.join('; ')}.`);
  return {
    ...options,
    timing: { ...defaultTiming, ...options.timing },
    clock: steadyClock(options.clock ?? systemClock),
    leadership: options.leadership ?? soleLeader,
    logger: options.logger ?? silentLogger,
  };
}

import { type Logger, silentLogger } from '../runtime/logger.ts';
import { type Clock, steadyClock, systemClock } from '../runtime/time.ts';
import { describeIssues } from '../runtime/validation.ts';
import { parseSnapshot } from '../snapshot/format/parse-snapshot.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { SigningKey } from '../snapshot/signing/seal.ts';
import type { AdvertisedAddresses } from './advertised-addresses.ts';
import { buildSnapshot, type SnapshotInput, type SnapshotOutput } from './build-snapshot.ts';
import type { ClusterSource } from './cluster-source.ts';
import type { SnapshotTarget } from './deliver.ts';
import { createSchemaReader } from './schemas.ts';
import { createServerReaders } from './server-readers.ts';
import { type ClusterObjects, sharedGroupVersions } from './shared-objects.ts';
import type { ServerReading, SyncObserver, SyncServer } from './sync-server.ts';
import { defaultTiming, type SyncTiming } from './timing.ts';

/** What a sync job works with: open connections, keys, and everything that tests replace. */
export interface SyncParts {
  readonly servers: readonly SyncServer[];
  readonly clusterSource?: ClusterSource | undefined;
  readonly targets: readonly SnapshotTarget[];
  readonly signingKey?: SigningKey | undefined;
  /** The last snapshot of an earlier run, with the known resources and the generation to start from. */
  readonly previous?: Snapshot | undefined;
  readonly advertised?: AdvertisedAddresses | undefined;
  readonly observer?: SyncObserver | undefined;
  /** Whether to read the schemas of servers with one minor version, too, to compare them with another cluster's. Default false. */
  readonly alwaysReadsSchemas?: boolean | undefined;
  readonly cluster?: string | undefined;
  readonly timing?: Partial<SyncTiming> | undefined;
  readonly clock?: Clock | undefined;
  readonly logger?: Logger | undefined;
}

/** What all rounds share: the parts with their defaults, and what is remembered from one round to the next. */
export function createRoundContext(parts: SyncParts) {
  const options = {
    ...parts,
    timing: { ...defaultTiming, ...parts.timing },
    clock: steadyClock(parts.clock ?? systemClock),
    logger: parts.logger ?? silentLogger,
  };
  return {
    options,
    readers: createServerReaders(options.servers, options),
    schemas: createSchemaReader({
      clock: options.clock,
      always: options.alwaysReadsSchemas,
      previous: options.previous,
    }),
  };
}

export type RoundContext = ReturnType<typeof createRoundContext>;

export interface RoundOutcome {
  readonly snapshot: Snapshot | undefined;
  readonly changed: boolean;
  readonly servers: readonly SyncServer[];
  readonly readings: ReadonlyMap<string, ServerReading>;
  /** Whether everything that is watched could be listed. */
  readonly isWhole: boolean;
  /** Resolves when a round would know more of schemas; `undefined` while none are being read. */
  readonly moreSchemas: Promise<unknown> | undefined;
  readonly warnings: readonly string[];
}

/**
 * One round: finds the servers, reads those that are due, and makes the snapshot. Delivers nothing.
 *
 * @param longestWait how long to wait for slow servers, milliseconds; `undefined`: for all; 0: none is read, what has been
 *   read since the last round counts
 * @param waitsForSchemas whether to wait for documents, too; else what is not read yet counts as different until it is
 */
export async function runRound(
  context: RoundContext,
  previous: Snapshot | undefined,
  heldGeneration: number | undefined,
  longestWait: number | undefined,
  waitsForSchemas: boolean,
  signal: AbortSignal,
): Promise<RoundOutcome> {
  const { options, readers } = context;
  const view = options.clusterSource?.look((id) => readers.reading(id)?.ok);
  const servers = view?.servers ?? options.servers;
  readers.follow(servers);
  const readings = await readers.round(signal, longestWait);
  const clusterObjects = view?.objects ?? nothingRead;
  const schemas = await context.schemas.read({
    servers,
    readings,
    early: readers.early(),
    previous,
    shared: sharedGroupVersions(
      clusterObjects.apiServices ?? previous?.apiServices ?? [],
      clusterObjects.customResourceGroups ?? previous?.customResourceGroups ?? [],
    ),
    waits: waitsForSchemas,
    signal,
  });
  // Last, to include addresses that routers advertised during the reads.
  const advertised = options.advertised?.resolve(servers, previous);
  const output = await buildValidSnapshot({
    servers,
    readings,
    unread: readers.unread(),
    starts: readers.starts(),
    clusterObjects,
    advertised: advertised?.addresses,
    schemas: schemas.byServer,
    previous,
    heldGeneration,
    now: options.clock.now(),
    storageVersions: view?.storageVersions,
    decodableVersions: view?.decodableVersions,
    cluster: options.cluster,
  });
  const warnings = [
    ...(view?.warnings ?? []),
    ...(advertised?.warnings ?? []),
    ...schemas.warnings,
    ...output.warnings,
  ];
  return {
    ...output,
    servers,
    readings,
    isWhole: view?.isWhole ?? true,
    moreSchemas: schemas.more,
    warnings,
  };
}

const nothingRead: ClusterObjects = { apiServices: undefined, customResourceGroups: undefined, warnings: [] };

/**
 * As `buildSnapshot`, and checked as routers check it: they refuse a snapshot with any error. What a server says is checked
 * where it is read, so that it does not stop the snapshot of all; this is for the rest, such as a snapshot that is too large.
 */
async function buildValidSnapshot(input: SnapshotInput): Promise<SnapshotOutput> {
  const output = await buildSnapshot(input);
  if (!output.changed) return output;
  const parsed = await parseSnapshot(output.snapshot);
  if (parsed.ok) return { ...output, snapshot: parsed.snapshot };
  const issue = `the readings make no valid snapshot, so the last one is used: ${describeIssues(parsed.issues)}`;
  return { snapshot: input.previous, changed: false, warnings: [...output.warnings, issue] };
}

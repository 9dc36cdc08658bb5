import { errorMessage } from '../runtime/error-message.ts';
import type { Snapshot } from '../snapshot/format/types.ts';
import type { ClusterObjects, ReadClusterObjects } from './cluster/cluster-objects.ts';
import type { ClusterView } from './cluster/cluster-source.ts';
import type { SyncServer } from './cluster/sync-server.ts';
import { buildValidSnapshot } from './content/valid-snapshot.ts';
import { type ServerDocuments, withReadTimeout } from './documents/server-documents.ts';
import { sharedGroupVersions } from './servers/exclude-group-versions.ts';
import { createServerReaders } from './servers/server-readers.ts';
import type { ServerReading } from './servers/server-reading.ts';
import { createSchemaReader } from './servers/server-schemas.ts';
import { createSharedObjectsReader } from './servers/shared-objects-reader.ts';
import { resolveSyncOptions, type SyncOptions } from './sync-options.ts';

/** Options and state that all rounds share. @throws {TypeError} if the options contradict each other */
export function createRoundContext(given: SyncOptions) {
  const options = resolveSyncOptions(given);
  const { clock, timing } = options;
  return {
    options,
    readers: createServerReaders(options.servers, options),
    sharedObjects: createSharedObjectsReader(clock, timing.sharedObjectsRefresh),
    schemas: createSchemaReader({
      clock,
      always: options.alwaysReadsSchemas,
      previous: options.previous,
    }),
  };
}

export type RoundContext = ReturnType<typeof createRoundContext>;

export interface RoundOutcome {
  /** The snapshot after the round; `undefined` if no server is known. */
  readonly snapshot: Snapshot | undefined;
  /** Whether its content is new, with a new generation. */
  readonly changed: boolean;
  /** The servers of this round. */
  readonly servers: readonly SyncServer[];
  /** The latest reading of each server that has one; a failure, too, if routers would refuse what it says. */
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
  const readable = servers
    .filter(({ id }) => readings.get(id)?.ok === true && !readers.isUnderWay(id))
    .map(({ documents }) => documents);
  const clusterObjects = await sharedObjectsOf(context, view, readings, readable, signal);
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
    options: options.snapshot,
  });
  const warnings = [
    ...(view?.warnings ?? []),
    ...(advertised?.warnings ?? []),
    ...schemas.warnings,
    ...output.warnings,
  ];
  return { ...output, servers, isWhole: view?.isWhole ?? true, moreSchemas: schemas.more, warnings };
}

/** From the watches; kinds that they have never listed are read from the servers. */
async function sharedObjectsOf(
  { options, sharedObjects }: RoundContext,
  view: ClusterView | undefined,
  readings: ReadonlyMap<string, ServerReading>,
  readable: readonly ServerDocuments[],
  signal: AbortSignal,
): Promise<ClusterObjects> {
  const watched = view?.objects;
  if (watched?.apiServices !== undefined && watched.customResourceGroups !== undefined) return watched;
  // Why no server can be read is told already, for each of them or for the cluster.
  if (readable.length === 0) return watched ?? nothingRead;
  const read = await withReadTimeout(options.timing.readTimeout, signal, (deadline) =>
    sharedObjects.read(readings, readable, deadline),
  ).catch(unknownObjects);
  return {
    apiServices: watched?.apiServices ?? read.apiServices,
    customResourceGroups: watched?.customResourceGroups ?? read.customResourceGroups,
    customResources: watched?.customResources ?? read.customResources,
    warnings: [
      ...(watched?.apiServices === undefined ? read : watched).warnings,
      // What could not be watched either is told already.
      ...(view?.isWhole === false ? [] : read.failures),
    ],
  };
}

const nothingRead: ClusterObjects = { apiServices: undefined, customResourceGroups: undefined, warnings: [] };

function unknownObjects(error: unknown): ReadClusterObjects {
  const subject =
    'APIServices and CustomResourceDefinitions cannot be read, so only what was known of them before is used';
  return {
    apiServices: undefined,
    customResourceGroups: undefined,
    warnings: [],
    failures: [`${subject}: ${errorMessage(error)}`],
  };
}

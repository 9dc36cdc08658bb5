import { withDeadline } from '../runtime/deadline.ts';
import { describeIssues } from '../snapshot/format/issues.ts';
import { parseSnapshot } from '../snapshot/format/parse-snapshot.ts';
import type { Snapshot } from '../snapshot/format/types.ts';
import type { ClusterObjects } from './cluster/cluster-objects.ts';
import type { ClusterView } from './cluster/cluster-source.ts';
import type { SyncServer } from './cluster/sync-server.ts';
import { buildSnapshot } from './content/build-snapshot.ts';
import type { ServerDocuments } from './documents/server-documents.ts';
import type { RoundContext } from './round-context.ts';
import { sharedGroupVersions } from './servers/exclude-group-versions.ts';
import type { ServerReading } from './servers/server-reading.ts';

export interface RoundOutcome {
  /** What is known after the round; `undefined` while nothing is known of any server. */
  readonly snapshot: Snapshot | undefined;
  /** Whether that is other content, with a new generation. */
  readonly changed: boolean;
  /** Those that were there in this round. */
  readonly servers: readonly SyncServer[];
  /** Latest reading of each server that has one. */
  readonly readings: ReadonlyMap<string, ServerReading>;
  /** Whether all that is watched could be listed. */
  readonly isWhole: boolean;
  readonly warnings: readonly string[];
}

/**
 * One round: looks which servers there are, reads what is due, and makes the snapshot of it. Delivers nothing.
 *
 * @param patience milliseconds that slow servers are waited for; `undefined` waits for all
 */
export async function runRound(
  context: RoundContext,
  previous: Snapshot | undefined,
  heldGeneration: number | undefined,
  patience: number | undefined,
  signal: AbortSignal,
): Promise<RoundOutcome> {
  const { options, readers } = context;
  const view = options.clusterSource?.look((id) => readers.reading(id)?.ok);
  const servers = view?.servers ?? options.servers;
  readers.follow(servers);
  const readings = await readers.round(signal, patience);
  const readable = servers
    .filter(({ id }) => readings.get(id)?.ok === true && !readers.isUnderWay(id))
    .map(({ documents }) => documents);
  const shared = await sharedObjectsOf(context, view, readings, readable, signal);
  const clusterObjects = await withServiceAddresses(context, shared, previous, readable, patience, signal);
  const schemas = await context.schemas?.read({
    servers,
    readings,
    previous,
    shared: sharedGroupVersions(
      clusterObjects.apiServices ?? previous?.apiServices ?? [],
      clusterObjects.customResourceGroups ?? previous?.customResourceGroups ?? [],
    ),
    patienceMilliseconds: patience,
    signal,
  });
  // Last, so that what routers said while servers were read counts.
  const advertised = options.advertised?.resolve(servers, previous);
  const output = await buildSnapshot({
    servers,
    readings,
    clusterObjects,
    advertised: advertised?.addresses,
    schemas: schemas?.byServer,
    previous,
    heldGeneration,
    now: options.clock.now(),
    ...(view === undefined
      ? {}
      : { storageVersions: view.storageVersions, decodableVersions: view.decodableVersions }),
    ...(options.snapshot === undefined ? {} : { options: options.snapshot }),
  });
  const warnings = [
    ...(view?.warnings ?? []),
    ...(advertised?.warnings ?? []),
    ...(schemas?.warnings ?? []),
    ...output.warnings,
  ];
  const read = { servers, readings, isWhole: view?.isWhole ?? true };
  if (!output.changed) return { ...output, ...read, warnings };
  const parsed = await parseSnapshot(output.snapshot);
  if (parsed.ok) return { snapshot: parsed.snapshot, changed: true, ...read, warnings };
  const fault = `what was read makes no valid snapshot, so the last one stands: ${describeIssues(parsed.issues)}`;
  return { snapshot: previous, changed: false, ...read, warnings: [...warnings, fault] };
}

/** As the watches tell them; what those could never list is read from the servers. */
async function sharedObjectsOf(
  { options, sharedObjects }: RoundContext,
  view: ClusterView | undefined,
  readings: ReadonlyMap<string, ServerReading>,
  readable: readonly ServerDocuments[],
  signal: AbortSignal,
): Promise<ClusterObjects> {
  const watched = view?.objects;
  if (watched?.apiServices !== undefined && watched.customResourceGroups !== undefined) return watched;
  const read = await withDeadline(
    options.timing.readTimeout,
    signal,
    () => new Error('too slow'),
    (deadline) => sharedObjects.read(readings, readable, deadline),
  ).catch((error: unknown): ClusterObjects => unknownObjects(error));
  return {
    apiServices: watched?.apiServices ?? read.apiServices,
    customResourceGroups: watched?.customResourceGroups ?? read.customResourceGroups,
    customResources: watched?.customResources ?? read.customResources,
    warnings: [...(watched?.warnings ?? []), ...read.warnings],
  };
}

/** For routers that go straight to extension API servers (`--extension-routing=extension`). */
async function withServiceAddresses(
  { options, serviceAddresses }: RoundContext,
  objects: ClusterObjects,
  previous: Snapshot | undefined,
  readable: readonly ServerDocuments[],
  patience: number | undefined,
  signal: AbortSignal,
): Promise<ClusterObjects> {
  if (objects.apiServices === undefined || options.resolvesServices === false) return objects;
  const timeout = patience ?? options.timing.readTimeout;
  const resolved = await serviceAddresses.resolve(objects.apiServices, previous, readable, timeout, signal);
  return {
    ...objects,
    apiServices: resolved.apiServices,
    warnings: [...objects.warnings, ...resolved.warnings],
  };
}

function unknownObjects(error: unknown): ClusterObjects {
  const reason = error instanceof Error ? error.message : String(error);
  return {
    apiServices: undefined,
    customResourceGroups: undefined,
    warnings: [`what is known of APIServices and CustomResourceDefinitions stays as it was: ${reason}`],
  };
}

import { type Logger, silentLogger } from '../runtime/logger.ts';
import { type Clock, systemClock, waitAtMost } from '../runtime/time.ts';
import { describeIssues } from '../runtime/validation.ts';
import { parseSnapshot } from '../snapshot/format/parse-snapshot.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { RefusedAddress } from '../snapshot/receiving/refused-addresses.ts';
import type { SigningKey } from '../snapshot/signing/seal.ts';
import type { AdvertisedAddresses } from './advertised-addresses.ts';
import { buildSnapshot, type SnapshotInput, type SnapshotOutput } from './build-snapshot.ts';
import type { ClusterSource } from './cluster-source.ts';
import {
  createPublication,
  createTargetDelivery,
  type Delivery,
  type DeliveryResult,
  deliverTo,
  type SnapshotTarget,
  sealDelivery,
  type TargetStatus,
} from './deliver.ts';
import { createSchemaReader } from './schemas.ts';
import { createServerReaders } from './server-readers.ts';
import { sharedGroupVersions } from './shared-objects.ts';
import type { ServerReading, SyncObserver, SyncServer } from './sync-server.ts';
import { defaultTiming, type SyncTiming } from './timing.ts';

/** What a sync job works with: open connections, keys, and everything that tests replace. */
export interface SyncParts {
  readonly clusterSource: ClusterSource;
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

export function createRoundContext(parts: SyncParts) {
  const options = {
    ...parts,
    timing: { ...defaultTiming, ...parts.timing },
    clock: parts.clock ?? systemClock,
    logger: parts.logger ?? silentLogger,
  };
  return {
    options,
    readers: createServerReaders(options),
    /** Group versions that once were those of custom resources or extension APIs. */
    everShared: new Set<string>(),
    schemas: createSchemaReader({
      clock: options.clock,
      always: options.alwaysReadsSchemas,
      previous: options.previous,
    }),
  };
}

type RoundContext = ReturnType<typeof createRoundContext>;

export interface ServerStatus {
  readonly id: string;
  /**
   * `current`: the last read succeeded. `stale`: it cannot be read, so its last known resources are used. `departed`: it
   * has left and may come back; its resources are known, without a server. `unknown`: nothing is known of it.
   */
  readonly state: 'current' | 'stale' | 'departed' | 'unknown';
  readonly failure: string | undefined;
}

export interface SyncStatus {
  /** Generation that is being delivered; `undefined` if no server is known. */
  readonly generation: number | undefined;
  /** End of the last round, milliseconds since the epoch; `undefined` before the first. */
  readonly lastRoundAt: number | undefined;
  readonly lastReadAt: number | undefined;
  readonly servers: readonly ServerStatus[];
  readonly warnings: readonly string[];
  /** Addresses that the cluster names and nobody calls. */
  readonly refusedAddresses: readonly RefusedAddress[];
  readonly targets: readonly TargetStatus[];
}

export interface SyncLoop {
  /** Resolves when `signal` aborts; never rejects. Once only. */
  run(signal: AbortSignal): Promise<void>;
  /** A server says of itself what was not read: all are read at once, over new connections. */
  hurry(): void;
  status(): SyncStatus;
}

export function createSyncLoop(given: SyncParts): SyncLoop {
  const context = createRoundContext(given);
  const { clock, logger, timing, ...options } = context.options;
  /** Aborts when the next round must start at once. */
  let wake = new AbortController();
  let last: { readonly endedAt: number; readonly outcome: RoundOutcome } | undefined;
  let lastReadAt: number | undefined;

  const targets = options.targets.map((target) =>
    createTargetDelivery(target, {
      clock,
      logger,
      timing,
      observer: options.observer,
      onNewerHeld: (generation) => publication.newerHeld(generation),
    }),
  );
  let attempted: Promise<unknown> = Promise.resolve();
  const publication = createPublication({
    clock,
    signingKey: options.signingKey,
    timing,
    offer: (delivery) => {
      attempted = Promise.all(targets.map((target) => target.offer(delivery)));
    },
  });

  const known = (): Snapshot | undefined => publication.snapshot() ?? options.previous;

  /** @param reads whether servers are to be read; else what they have said since the last round counts */
  async function round(reads: boolean, signal: AbortSignal): Promise<void> {
    // The very first snapshot waits for the slowest server: resources that only that server serves would be 404.
    const longestWait = known() === undefined ? undefined : reads ? timing.longestWait : 0;
    // Nor does any wait for schemas: that a server has another version counts at once.
    const outcome = await runRound(context, known(), longestWait, false, signal);
    if (signal.aborted) return;
    logChanges(logger, last?.outcome, outcome);
    last = { endedAt: clock.now(), outcome };
    if ([...outcome.readings.values()].some(({ ok }) => ok)) lastReadAt = last.endedAt;
    // The snapshot of an earlier run is delivered too: a router may have started since.
    if (outcome.snapshot !== undefined && (outcome.changed || publication.snapshot() === undefined)) {
      await publication.publish(outcome.snapshot);
      // In use before more is read: a server that starts changes dozens of objects, and their rounds would be in its way.
      await waitAtMost(attempted, longestDelivery, clock, signal);
    }
  }

  async function rounds(signal: AbortSignal): Promise<void> {
    // A first snapshot without servers that are found a moment later would remove their routes.
    await waitAtMost(options.clusterSource.ready(signal), timing.longestWait, clock, signal);
    let reads = true;
    let isOwed = false;
    while (!signal.aborted) {
      const woken = wake.signal;
      if (reads) isOwed = false;
      let isInForce = false;
      try {
        await round(reads, signal);
        isInForce = lastReadAt === last?.endedAt && last?.outcome.isInvalid !== true;
      } catch (error) {
        logger.error({ err: error }, 'A round failed');
      }
      // The age of a snapshot says when it was last what the cluster serves: a round that could read no server, or could not
      // publish what it has read, renews nothing.
      await publication.keepInForce(isInForce).catch((error: unknown) => {
        logger.error({ err: error }, 'The snapshot could not be renewed');
      });
      // With jitter, sync jobs that started together do not send their requests together.
      const owedIn = isOwed ? timing.interval / 2 : Number.POSITIVE_INFINITY;
      const wanted = Math.min(pause() * (0.9 + 0.2 * clock.random()), owedIn);
      const rest = clock.sleep(wanted, AbortSignal.any([signal, woken]));
      const resting = new AbortController();
      const heard = [
        ...(last?.outcome.moreSchemas === undefined ? [] : [last.outcome.moreSchemas]),
        ...(context.readers.expectsNews() ? [context.readers.untilNews(resting.signal, signal)] : []),
      ].map((each) => each.then(() => false));
      // A server that is back is read already, and the others were a moment ago.
      reads = await Promise.race([rest.then(() => true), ...heard]);
      resting.abort();
      if (!reads || !woken.aborted) continue;
      reads = isReadForAtOnce();
      if (reads) credit--;
      else isOwed = true;
    }
  }

  function pause(): number {
    const { interval, restInterval = interval } = timing;
    const isCalm =
      last !== undefined &&
      !last.outcome.changed &&
      last.outcome.moreSchemas === undefined &&
      last.outcome.servers.every(
        ({ id, departedAt }) => departedAt !== undefined || failureOf(last?.outcome, id) === undefined,
      );
    return isCalm ? restInterval : interval;
  }

  function wakeUp(): void {
    wake.abort();
    wake = new AbortController();
  }

  /** Readings of all servers that changes may still ask for at once, and when that was worked out. */
  let credit = changesReadAtOnce;
  let creditedAt = clock.monotonic();

  /**
   * Whether all servers are read for a change. A server that starts changes dozens of objects one after the other: the first
   * few are read for at once, as a new definition is, and the others together.
   */
  function isReadForAtOnce(): boolean {
    const now = clock.monotonic();
    credit = Math.min(changesReadAtOnce, credit + (now - creditedAt) / (timing.interval / 2));
    creditedAt = now;
    return credit >= 1;
  }

  let isChanging = false;
  async function onClusterChange(signal: AbortSignal): Promise<void> {
    if (isChanging) return;
    isChanging = true;
    await clock.sleep(isReadForAtOnce() ? timing.settle : timing.interval / 4, signal);
    isChanging = false;
    wakeUp();
  }

  return {
    async run(signal) {
      const onChange = () => void onClusterChange(signal);
      options.advertised?.onChange(onChange);
      await Promise.all([
        options.clusterSource.run(signal, onChange),
        rounds(signal),
        ...targets.map((target) => target.run(signal)),
      ]);
    },
    hurry() {
      context.readers.renewConnections();
      wakeUp();
    },
    status: () => ({
      generation: publication.snapshot()?.metadata.generation,
      lastRoundAt: last?.endedAt,
      lastReadAt,
      servers: (last?.outcome.servers ?? options.clusterSource.listed).map(({ id, departedAt }) => {
        const failure = failureOf(last?.outcome, id);
        if (failure === undefined) return { id, failure, state: 'current' };
        if (!known()?.servers.some((server) => server.id === id)) return { id, failure, state: 'unknown' };
        return { id, failure, state: departedAt === undefined ? 'stale' : 'departed' };
      }),
      warnings: last?.outcome.warnings ?? [],
      refusedAddresses: last?.outcome.refused ?? [],
      targets: targets.map((target) => target.status()),
    }),
  };
}

/** How long a round waits until its snapshot has been delivered, milliseconds. */
const longestDelivery = 200;
/** Changes in the cluster for each of which all servers are read; after that, two a second are. */
const changesReadAtOnce = 4;

function failureOf(outcome: RoundOutcome | undefined, id: string): string | undefined {
  const reading = outcome?.readings.get(id);
  if (reading === undefined) return 'not read yet';
  return reading.ok ? undefined : reading.reason;
}

function logChanges(logger: Logger, before: RoundOutcome | undefined, after: RoundOutcome): void {
  const servers = idsOf(after);
  if (servers.join() !== idsOf(before).join()) logger.info({ servers }, 'API servers');
  const known = before?.warnings ?? [];
  for (const warning of after.warnings)
    if (!known.includes(warning)) logger.warn({ warning }, 'A round ended with a warning');
  if (after.warnings.length === 0 && known.length > 0) logger.info({}, 'Everything can be read again');
}

function idsOf(outcome: RoundOutcome | undefined): readonly string[] {
  return (outcome?.servers ?? []).map(({ id }) => id).sort();
}

export interface SyncOnceResult {
  readonly ok: boolean;
  readonly snapshot: Snapshot | undefined;
  readonly readings: ReadonlyMap<string, ServerReading>;
  readonly warnings: readonly string[];
  readonly deliveries: readonly { readonly target: string; readonly result: DeliveryResult }[];
}

/** As `syncOnce`, with open connections. */
export async function runOnce(given: SyncParts, signal: AbortSignal): Promise<SyncOnceResult> {
  const context = createRoundContext(given);
  const { options } = context;
  const { snapshot, servers, readings, warnings, isWhole, isInvalid } = await oneRound(context, signal);
  const delivery = snapshot && (await sealDelivery(snapshot, options.signingKey));
  const deliveries =
    delivery === undefined
      ? []
      : await Promise.all(
          options.targets.map(async (target) => ({
            target: target.name,
            result: await deliverOnce(target, delivery, options.signingKey, signal),
          })),
        );
  const ok =
    snapshot !== undefined &&
    isWhole &&
    isInvalid !== true &&
    servers.every(({ id, departedAt }) => departedAt !== undefined || readings.get(id)?.ok === true) &&
    deliveries.every(({ result }) => result.kind === 'accepted');
  return { ok, snapshot, readings, warnings, deliveries };
}

async function oneRound(context: RoundContext, signal: AbortSignal): Promise<RoundOutcome> {
  const { clusterSource, previous } = context.options;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const watching = clusterSource.run(either);
  try {
    await clusterSource.ready(either);
    const first = await runRound(context, previous, undefined, true, signal);
    const found = first.servers.filter(({ id }) => !clusterSource.listed.some((server) => server.id === id));
    if (found.every(({ id }) => first.readings.get(id)?.ok === true)) return first;
    // A server that nothing names departs only after a failed read: the second round uses the readings of the first.
    return await runRound(context, previous, undefined, true, signal);
  } finally {
    over.abort();
    await watching;
  }
}

/** A router that holds a higher generation is overtaken. One that cannot be reached is left to the next run. */
async function deliverOnce(
  target: SnapshotTarget,
  delivery: Delivery,
  signingKey: SigningKey | undefined,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  const result = await deliverTo(target, delivery, signal);
  if (result.kind !== 'newer-held') return result;
  const { metadata } = delivery.snapshot;
  const generation = (result.generation ?? metadata.generation) + 1;
  const next = { ...delivery.snapshot, metadata: { ...metadata, generation } };
  return deliverTo(target, await sealDelivery(next, signingKey), signal);
}

interface RoundOutcome extends SnapshotOutput {
  readonly servers: readonly SyncServer[];
  readonly readings: ReadonlyMap<string, ServerReading>;
  /** Whether everything that is watched could be listed. */
  readonly isWhole: boolean;
  readonly refused: readonly RefusedAddress[];
  /** Resolves when a round would know more of schemas; `undefined` while none are being read. */
  readonly moreSchemas: Promise<unknown> | undefined;
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
  longestWait: number | undefined,
  waitsForSchemas: boolean,
  signal: AbortSignal,
): Promise<RoundOutcome> {
  const { options, readers } = context;
  const view = options.clusterSource.look((id) => readers.reading(id)?.ok);
  const { servers, objects: clusterObjects } = view;
  readers.follow(servers);
  const readings = await readers.round(signal, longestWait);
  const shared = sharedGroupVersions(
    clusterObjects.apiServices ?? previous?.apiServices ?? [],
    clusterObjects.customResourceGroups ?? previous?.customResourceGroups ?? [],
  );
  const { everShared } = context;
  for (const groupVersion of shared) everShared.add(groupVersion);
  const schemas = await context.schemas.read({
    servers,
    readings,
    early: readers.early(),
    previous,
    shared,
    everShared,
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
    everShared,
    advertised: advertised?.addresses,
    schemas: schemas.byServer,
    previous,
    now: options.clock.now(),
    monotonic: options.clock.monotonic(),
    storageVersions: view.storageVersions,
    decodableVersions: view.decodableVersions,
    cluster: options.cluster,
  });
  const warnings = [
    ...view.warnings,
    ...(advertised?.warnings ?? []),
    ...schemas.warnings,
    ...output.warnings,
  ];
  return {
    ...output,
    servers,
    readings,
    isWhole: view.isWhole,
    refused: view.refused,
    moreSchemas: schemas.more,
    warnings,
  };
}

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
  return { snapshot: input.previous, changed: false, isInvalid: true, warnings: [...output.warnings, issue] };
}

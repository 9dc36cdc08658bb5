import { backOffDelay } from '../runtime/time.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import {
  type Delivery,
  type DeliveryResult,
  deliverTo,
  type SnapshotTarget,
  sealDelivery,
} from './deliver.ts';
import {
  createRoundContext,
  type RoundContext,
  type RoundOutcome,
  runRound,
  type SyncParts,
} from './round.ts';
import type { ServerReading } from './sync-server.ts';

const attempts = 8;

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
  const { snapshot, servers, readings, warnings, isWhole } = await oneRound(context, signal);
  const deliveries =
    snapshot === undefined
      ? []
      : await Promise.all(
          options.targets.map(async (target) => ({
            target: target.name,
            result: await deliverWithRetries(target, snapshot, options, signal),
          })),
        );
  const ok =
    snapshot !== undefined &&
    isWhole &&
    servers.every(({ id, departedAt }) => departedAt !== undefined || readings.get(id)?.ok === true) &&
    deliveries.every(({ result }) => result.kind === 'accepted');
  return { ok, snapshot, readings, warnings, deliveries };
}

/** Lists everything that is watched, runs the round, then ends the watches. */
async function oneRound(context: RoundContext, signal: AbortSignal): Promise<RoundOutcome> {
  const { clusterSource, previous, servers: listed } = context.options;
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const watching = clusterSource?.run(either);
  try {
    await clusterSource?.ready(either);
    const first = await runRound(context, previous, undefined, undefined, true, signal);
    const found = first.servers.filter(({ id }) => !listed.some((server) => server.id === id));
    if (found.every(({ id }) => first.readings.get(id)?.ok === true)) return first;
    // A server that nothing names departs only after a failed read: the second round uses the readings of the first.
    return await runRound(context, previous, undefined, undefined, true, signal);
  } finally {
    over.abort();
    await watching;
  }
}

async function deliverWithRetries(
  target: SnapshotTarget,
  snapshot: Snapshot,
  { clock, timing, signingKey }: RoundContext['options'],
  signal: AbortSignal,
): Promise<DeliveryResult> {
  let delivery: Delivery = await sealDelivery(snapshot, signingKey);
  for (let attempt = 1; ; attempt++) {
    const result = await deliverTo(target, delivery, signal);
    if (result.kind === 'accepted' || result.kind === 'refused') return result;
    if (attempt === attempts || signal.aborted) return result;
    if (result.kind === 'newer-held') {
      const { metadata } = delivery.snapshot;
      const generation = (result.generation ?? metadata.generation) + 1;
      delivery = await sealDelivery({ ...snapshot, metadata: { ...metadata, generation } }, signingKey);
    } else {
      await clock.sleep(backOffDelay(timing.deliveryBackOff, attempt, clock.random()), signal);
    }
  }
}

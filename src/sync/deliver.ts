import { errorMessage } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { backOffDelay, type Clock } from '../runtime/time.ts';
import { setsText } from '../snapshot/format/packed-snapshot.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { HeldSnapshot } from '../snapshot/receiving/snapshot-endpoint.ts';
import { type SigningKey, sealChecked } from '../snapshot/signing/seal.ts';
import type { SyncObserver } from './sync-server.ts';
import type { SyncTiming } from './timing.ts';

export interface Delivery {
  readonly snapshot: Snapshot;
  /** Signed; `undefined` without a signing key: only files accept that. */
  readonly sealed: SealedDelivery | undefined;
}

export interface SealedDelivery {
  readonly snapshot: string;
  /** The same for who holds what was delivered before: without the sets of that. `undefined`: nothing was. */
  readonly change: { readonly from: string; readonly snapshot: string } | undefined;
  /** What a router holds that has accepted it. */
  readonly held: HeldSnapshot;
}

/** @throws {SnapshotError} for a snapshot that is too large for every receiver */
export async function sealDelivery(
  snapshot: Snapshot,
  key: SigningKey | undefined,
  before?: Delivery,
): Promise<Delivery> {
  if (key === undefined) return { snapshot, sealed: undefined };
  const { jws, sets, digest } = await sealChecked(snapshot, key);
  const held = { digest, createdAt: Date.parse(snapshot.metadata.createdAt) };
  const change = before?.sealed && {
    from: before.sealed.held.digest,
    snapshot: `${jws}\n${await setsText(snapshot.servedSets, before.snapshot.servedSets)}`,
  };
  return { snapshot, sealed: { snapshot: `${jws}\n${sets}`, change, held } };
}

export type DeliveryResult =
  | { readonly kind: 'accepted' }
  /** The target holds another snapshot with the same or a higher generation (409). */
  | { readonly kind: 'newer-held'; readonly generation: number | undefined; readonly message: string }
  /** The target refuses it (401, 413, 422, …) until an operator changes something. */
  | { readonly kind: 'refused'; readonly message: string }
  /** No response, or one that asks to retry later. */
  | { readonly kind: 'unreachable'; readonly message: string };

export interface SnapshotTarget {
  readonly name: string;
  /** Delivers a snapshot once. A failure is in the result. */
  put(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult>;
  /**
   * Asks with a small request whether the target still holds what it has accepted: after a restart, a router may not. One
   * without this method always does.
   * @throws if it cannot be reached
   */
  holds?(delivery: Delivery, signal: AbortSignal): Promise<boolean>;
  /** The sealed snapshot that it holds, for a start; `undefined` if it holds none. @throws if it cannot be reached */
  held?(signal: AbortSignal): Promise<string | undefined>;
}

/** Delivers once. A target of a library user that throws must not end the sync job, or a delivery to another target. */
export async function deliverTo(
  target: SnapshotTarget,
  delivery: Delivery,
  signal: AbortSignal,
): Promise<DeliveryResult> {
  try {
    return await target.put(delivery, signal);
  } catch (error) {
    return { kind: 'unreachable', message: errorMessage(error) };
  }
}

interface PublicationOptions {
  readonly clock: Clock;
  readonly timing: SyncTiming;
  readonly signingKey: SigningKey | undefined;
  readonly offer: (delivery: Delivery) => void;
}

export function createPublication(options: PublicationOptions) {
  const { clock, timing, signingKey, offer } = options;
  let current: Delivery | undefined;
  /** Highest generation that a router holds of somebody else. */
  let held = 0;
  let overtakes = 0;
  // Both by the monotonic clock, so that a clock that is set back delays no renewal.
  let renewAt = 0;
  let overtakeAt = 0;

  /** Delivers this from now on. @throws {SnapshotError} if it cannot be sealed; the last one stays then. */
  async function publish(given: Snapshot): Promise<void> {
    const { metadata } = given;
    // Another sync job may have made what a router holds: a change does not wait for its turn to overtake that.
    const generation = Math.max(metadata.generation, held + 1);
    const snapshot = { ...given, metadata: { ...metadata, generation } };
    current = await sealDelivery(snapshot, signingKey, current);
    // A snapshot of an earlier run may be due for renewal.
    const age = Math.max(0, clock.now() - Date.parse(snapshot.metadata.createdAt));
    renewAt = clock.monotonic() + timing.renewal - age;
    offer(current);
  }

  /** As of now: what a router holds is young again, or is overtaken. */
  function publishAsOfNow({ snapshot }: Delivery): Promise<void> {
    const createdAt = new Date(clock.now()).toISOString();
    return publish({ ...snapshot, metadata: { ...snapshot.metadata, createdAt } });
  }

  return {
    publish,
    /** The one that is being delivered. */
    snapshot: (): Snapshot | undefined => current?.snapshot,
    /** A router holds another snapshot with this generation, which is at least as high as the one delivered. */
    newerHeld(generation: number): void {
      held = Math.max(generation, held);
    },
    /** Renews if the cluster could be read just now, or overtakes, if it is time to. */
    async keepInForce(hasRead: boolean): Promise<void> {
      if (current === undefined) return;
      const isHeldElsewhere = held >= current.snapshot.metadata.generation;
      const mayOvertake = clock.monotonic() >= overtakeAt;
      if (!isHeldElsewhere && mayOvertake) overtakes = 0;
      if (isHeldElsewhere && mayOvertake) {
        overtakes++;
        // Two sync jobs that push to one router overtake each other for ever: the back-off makes that slow.
        overtakeAt = clock.monotonic() + backOffDelay(timing.refusalBackOff, overtakes, clock.random());
        await publishAsOfNow(current);
      } else if (!isHeldElsewhere && hasRead && clock.monotonic() >= renewAt) {
        await publishAsOfNow(current);
      }
    },
  };
}

interface TargetDeliveryOptions {
  readonly clock: Clock;
  readonly timing: SyncTiming;
  readonly logger: Logger;
  /** Called if the target holds another snapshot, with its generation, or with ours if that is unknown. */
  readonly onNewerHeld: (generation: number) => void;
  readonly observer?: Pick<SyncObserver, 'delivered'> | undefined;
}

export interface TargetStatus {
  readonly target: string;
  readonly heldGeneration: number | undefined;
  readonly lastResult: DeliveryResult | undefined;
  readonly failures: number;
  /** Milliseconds since the epoch; `undefined` before the first. */
  readonly lastAcceptedAt: number | undefined;
}

export function createTargetDelivery(target: SnapshotTarget, options: TargetDeliveryOptions) {
  const { clock, timing, logger } = options;
  let current: Delivery | undefined;
  /** Aborts when another snapshot is offered; ends every wait. */
  let offered = new AbortController();
  let attempted = Promise.withResolvers<void>();
  let held: Delivery | undefined;
  let lastResult: DeliveryResult | undefined;
  let failures = 0;
  let lastAcceptedAt: number | undefined;

  async function stillHolds(delivery: Delivery, signal: AbortSignal): Promise<boolean> {
    if (held !== delivery) return false;
    // After a failure, the delivery that follows reports it.
    return target.holds?.(delivery, signal).catch(() => false) ?? true;
  }

  async function attempt(delivery: Delivery, signal: AbortSignal): Promise<void> {
    if (await stillHolds(delivery, signal)) return;
    const begun = clock.monotonic();
    const result = await deliverTo(target, delivery, signal);
    if (signal.aborted) return;
    const seconds = (clock.monotonic() - begun) / 1000;
    options.observer?.delivered({ target: target.name, seconds, result: result.kind });
    const { generation } = delivery.snapshot.metadata;
    const fields = { target: target.name, generation };
    if (result.kind === 'accepted') {
      if (held !== delivery) logger.info(fields, 'Snapshot delivered');
      held = delivery;
      failures = 0;
      lastAcceptedAt = clock.now();
    } else {
      held = undefined;
      failures++;
      // Logged once per reason, so that a target that stays unreachable does not fill the log.
      if (lastResult === undefined || describe(lastResult) !== describe(result)) {
        logger.warn({ ...fields, reason: result.message }, `Snapshot not delivered: ${result.kind}`);
      }
      if (result.kind === 'newer-held') options.onNewerHeld(result.generation ?? generation);
    }
    lastResult = result;
  }

  function delay(): number {
    if (failures === 0) return timing.check;
    const backOff = lastResult?.kind === 'unreachable' ? timing.deliveryBackOff : timing.refusalBackOff;
    return backOffDelay(backOff, failures, clock.random());
  }

  return {
    /** Makes this the snapshot to deliver, instead of any earlier one. Resolves once that, or a later one, has been tried. */
    offer(delivery: Delivery): Promise<void> {
      current = delivery;
      offered.abort();
      offered = new AbortController();
      return attempted.promise;
    },
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const delivery = current;
        const wake = offered.signal;
        if (delivery !== undefined) {
          await attempt(delivery, signal);
          if (delivery === current) {
            attempted.resolve();
            attempted = Promise.withResolvers();
          }
        }
        // A new snapshot does not shorten the back-off of an unreachable target.
        const unreachable = delivery !== undefined && lastResult?.kind === 'unreachable';
        await clock.sleep(delay(), unreachable ? signal : AbortSignal.any([signal, wake]));
      }
    },
    status: (): TargetStatus => ({
      target: target.name,
      heldGeneration: held?.snapshot.metadata.generation,
      lastResult,
      failures,
      lastAcceptedAt,
    }),
  };
}

function describe(result: DeliveryResult): string {
  return result.kind === 'accepted' ? result.kind : `${result.kind}: ${result.message}`;
}

import type { Logger } from '../../runtime/logger.ts';
import { type BackOff, backOffDelay, type Clock } from '../../runtime/time.ts';
import { type Delivery, type DeliveryResult, deliverTo, type SnapshotTarget } from './deliver.ts';
import type { SyncObserver } from './sync-observer.ts';

/** Milliseconds. */
export interface DeliveryTiming {
  /**
   * Between deliveries to a target that cannot be reached. Default 250, doubling up to 750: a router that starts late
   * gets its snapshot within a second, and an attempt without a connection costs little.
   */
  readonly deliveryBackOff: BackOff;
  /**
   * Between deliveries to a target that refuses them, and between attempts to overtake a newer generation: both need a
   * change by an operator. Default 500, doubling up to 10,000.
   */
  readonly refusalBackOff: BackOff;
  /** How often a target is asked whether it still holds the snapshot, if it has `holds`. Default 500. */
  readonly check: number;
  /** How often a target without `holds` gets its snapshot again. Default 30,000. */
  readonly confirm: number;
}

interface TargetDeliveryOptions {
  readonly clock: Clock;
  readonly timing: DeliveryTiming;
  readonly logger: Logger;
  /** Called if the target holds another snapshot, with its generation, or with ours if that is unknown. */
  readonly onNewerHeld: (generation: number) => void;
  /** Called after the target has accepted a snapshot or renewal. */
  readonly onAccepted?: (delivery: Delivery) => void;
  readonly observer?: Pick<SyncObserver, 'delivered'> | undefined;
}

export interface TargetStatus {
  readonly target: string;
  /** Generation of the snapshot that the target is known to hold. */
  readonly heldGeneration: number | undefined;
  readonly lastResult: DeliveryResult | undefined;
  /** Failed deliveries since the last accepted one. */
  readonly failures: number;
  /** Milliseconds since the epoch; `undefined` before the first. */
  readonly lastAcceptedAt: number | undefined;
}

/** Delivers the current snapshot to one target, with retries. */
export function createTargetDelivery(target: SnapshotTarget, options: TargetDeliveryOptions) {
  const { clock, timing, logger } = options;
  let current: Delivery | undefined;
  /** Aborts when another snapshot is offered; ends every wait. */
  let offered = new AbortController();
  let held: Delivery | undefined;
  let lastResult: DeliveryResult | undefined;
  let failures = 0;
  let lastAcceptedAt: number | undefined;

  /** Whether the target is known to hold the delivery. */
  async function stillHolds(delivery: Delivery, signal: AbortSignal): Promise<boolean> {
    if (held !== delivery || target.holds === undefined) return false;
    try {
      return await target.holds(delivery, signal);
    } catch {
      // The delivery that follows reports the failure.
      return false;
    }
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
      options.onAccepted?.(delivery);
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
    if (failures === 0) return target.holds === undefined ? timing.confirm : timing.check;
    const backOff = lastResult?.kind === 'unreachable' ? timing.deliveryBackOff : timing.refusalBackOff;
    return backOffDelay(backOff, failures, clock.random());
  }

  return {
    /** Makes this the snapshot to deliver, instead of any earlier one. Returns at once. */
    offer(delivery: Delivery): void {
      current = delivery;
      offered.abort();
      offered = new AbortController();
    },
    /** Delivers until `signal` aborts. Never rejects. */
    async run(signal: AbortSignal): Promise<void> {
      while (!signal.aborted) {
        const delivery = current;
        const wake = offered.signal;
        if (delivery !== undefined) await attempt(delivery, signal);
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

import type { Logger } from '../observe/logger.ts';
import { type BackOff, backOffDelay, type Clock } from './clock.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from './deliver.ts';

export interface TargetDeliveryOptions {
  readonly clock: Clock;
  readonly backOff: BackOff;
  /** A target that holds the snapshot is asked again after this time, should it have lost what it held. */
  readonly confirmMilliseconds: number;
  readonly logger: Logger;
  /** Called when the target holds another snapshot that is as new or newer, with its generation or ours. */
  readonly onNewerHeld: (generation: number) => void;
}

export interface TargetStatus {
  readonly target: string;
  /** Generation of the snapshot that the target is known to hold. */
  readonly heldGeneration: number | undefined;
  readonly lastResult: DeliveryResult | undefined;
  /** Deliveries that failed since the last that did not. */
  readonly failures: number;
}

/** Brings the current snapshot to one target, and keeps at it. */
export interface TargetDelivery {
  /** Makes this the snapshot to deliver, in place of any earlier one. Returns at once. */
  offer(delivery: Delivery): void;
  /** Delivers until `signal` aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  status(): TargetStatus;
}

export function createTargetDelivery(target: SnapshotTarget, options: TargetDeliveryOptions): TargetDelivery {
  const { clock, backOff, logger, confirmMilliseconds } = options;
  let current: Delivery | undefined;
  /** Aborts when a newer snapshot is offered: the end of every wait. */
  let offered = new AbortController();
  let held: Delivery | undefined;
  let lastResult: DeliveryResult | undefined;
  let failures = 0;

  async function put(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult> {
    try {
      return await target.put(delivery, signal);
    } catch (error) {
      // A target of somebody else's making that breaks its word must not end the sync job.
      return { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) };
    }
  }

  async function attempt(delivery: Delivery, signal: AbortSignal): Promise<void> {
    const result = await put(delivery, signal);
    if (signal.aborted) return;
    const { generation } = delivery.snapshot.metadata;
    const fields = { target: target.name, generation };
    if (result.kind === 'accepted') {
      if (held !== delivery) logger.info(fields, 'snapshot delivered');
      held = delivery;
      failures = 0;
    } else {
      held = undefined;
      failures++;
      // Said once; a target that stays away does not fill the log.
      if (lastResult === undefined || describe(lastResult) !== describe(result)) {
        logger.warn({ ...fields, reason: result.message }, `snapshot not delivered: ${result.kind}`);
      }
      if (result.kind === 'newer-held') options.onNewerHeld(result.generation ?? generation);
    }
    lastResult = result;
  }

  return {
    offer(delivery) {
      current = delivery;
      offered.abort();
      offered = new AbortController();
    },
    async run(signal) {
      while (!signal.aborted) {
        const delivery = current;
        const wake = offered.signal;
        if (delivery !== undefined) await attempt(delivery, signal);
        const wait = failures === 0 ? confirmMilliseconds : backOffDelay(backOff, failures, clock.random());
        // A target that does not answer is not asked sooner because there is something newer to say.
        const unreachable = lastResult?.kind === 'unreachable';
        await clock.sleep(wait, unreachable ? signal : AbortSignal.any([signal, wake]));
      }
    },
    status: () => ({
      target: target.name,
      heldGeneration: held?.snapshot.metadata.generation,
      lastResult,
      failures,
    }),
  };
}

function describe(result: DeliveryResult): string {
  return result.kind === 'accepted' ? result.kind : `${result.kind}: ${result.message}`;
}

import { type BackOff, backOffDelay, type Clock } from '../../runtime/clock.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from './deliver.ts';
import type { SyncObserver } from './observer.ts';

export interface TargetDeliveryOptions {
  readonly clock: Clock;
  /** After a delivery that did not arrive. */
  readonly backOff: BackOff;
  /** After one that was refused. */
  readonly refusalBackOff: BackOff;
  /** A target that holds the snapshot is asked for it this often, if it can be asked. */
  readonly checkMilliseconds: number;
  /** One that cannot be asked is handed the snapshot again this often. */
  readonly confirmMilliseconds: number;
  readonly logger: Logger;
  /** Asked before each delivery: a process that was stopped for a while may have lost the lead unawares. */
  readonly mayDeliver: () => boolean;
  /** Called when the target holds another snapshot that is as new or newer, with its generation or ours. */
  readonly onNewerHeld: (generation: number) => void;
  /** Called when the target has taken a snapshot or renewal. */
  readonly onAccepted?: (delivery: Delivery) => void;
  readonly observer?: Pick<SyncObserver, 'delivered'> | undefined;
}

export interface TargetStatus {
  readonly target: string;
  /** Generation of the snapshot that the target is known to hold. */
  readonly heldGeneration: number | undefined;
  readonly lastResult: DeliveryResult | undefined;
  /** Deliveries that failed since the last that did not. */
  readonly failures: number;
  /** Milliseconds since the epoch; `undefined` while there has been none. */
  readonly lastAcceptedAt: number | undefined;
}

/** Brings the current snapshot to one target, and keeps at it. */
export interface TargetDelivery {
  /** Makes this the snapshot to deliver, in place of any earlier one; `undefined`: none. Returns at once. */
  offer(delivery: Delivery | undefined): void;
  /** Delivers until `signal` aborts. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
  status(): TargetStatus;
}

export function createTargetDelivery(target: SnapshotTarget, options: TargetDeliveryOptions): TargetDelivery {
  const { clock, backOff, refusalBackOff, logger, checkMilliseconds, confirmMilliseconds } = options;
  let current: Delivery | undefined;
  /** Aborts when another snapshot is offered: the end of every wait. */
  let offered = new AbortController();
  /** Aborts when none is to be delivered any more: the end of a delivery under way, too. */
  let withdrawn = new AbortController();
  let held: Delivery | undefined;
  let lastResult: DeliveryResult | undefined;
  let failures = 0;
  let lastAcceptedAt: number | undefined;

  async function put(delivery: Delivery, signal: AbortSignal): Promise<DeliveryResult> {
    try {
      return await target.put(delivery, signal);
    } catch (error) {
      // A target of somebody else's making that breaks its word must not end the sync job.
      return { kind: 'unreachable', message: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Whether the target has the delivery, as far as it can be told without handing it over. */
  async function stillHolds(delivery: Delivery, signal: AbortSignal): Promise<boolean> {
    if (held !== delivery || target.holds === undefined) return false;
    try {
      return await target.holds(delivery, signal);
    } catch {
      // Whatever it is, the delivery that follows finds out and says so.
      return false;
    }
  }

  async function attempt(delivery: Delivery, signal: AbortSignal): Promise<void> {
    if (await stillHolds(delivery, signal)) return;
    const begun = clock.monotonic();
    const result = await put(delivery, signal);
    if (signal.aborted) return;
    const seconds = (clock.monotonic() - begun) / 1000;
    options.observer?.delivered({ target: target.name, seconds, result: result.kind });
    const { generation } = delivery.snapshot.metadata;
    const fields = { target: target.name, generation };
    if (result.kind === 'accepted') {
      if (held !== delivery) logger.info(fields, 'snapshot delivered');
      held = delivery;
      failures = 0;
      lastAcceptedAt = clock.now();
      options.onAccepted?.(delivery);
    } else {
      held = undefined;
      failures++;
      // Said once; a target that stays away does not fill the log.
      if (lastResult === undefined || describe(lastResult) !== describe(result)) {
        const advice = adviceFor(result, delivery);
        logger.warn({ ...fields, reason: result.message }, `snapshot not delivered: ${result.kind}${advice}`);
      }
      if (result.kind === 'newer-held') options.onNewerHeld(result.generation ?? generation);
    }
    lastResult = result;
  }

  function delay(): number {
    if (failures === 0) return target.holds === undefined ? confirmMilliseconds : checkMilliseconds;
    const failed = lastResult?.kind === 'unreachable' ? backOff : refusalBackOff;
    return backOffDelay(failed, failures, clock.random());
  }

  return {
    offer(delivery) {
      current = delivery;
      if (delivery === undefined) {
        held = undefined;
        withdrawn.abort();
        withdrawn = new AbortController();
      }
      offered.abort();
      offered = new AbortController();
    },
    async run(signal) {
      while (!signal.aborted) {
        const delivery = current;
        const wake = offered.signal;
        if (delivery !== undefined && options.mayDeliver()) {
          await attempt(delivery, AbortSignal.any([signal, withdrawn.signal]));
        }
        // A target that does not answer is not asked sooner because there is something newer to say.
        const unreachable = delivery !== undefined && lastResult?.kind === 'unreachable';
        await clock.sleep(delay(), unreachable ? signal : AbortSignal.any([signal, wake]));
      }
    },
    status: () => ({
      target: target.name,
      heldGeneration: held?.snapshot.metadata.generation,
      lastResult,
      failures,
      lastAcceptedAt,
    }),
  };
}

/** What an operator can do about it, where that is known. */
function adviceFor(result: DeliveryResult, { snapshot }: Delivery): string {
  const { servedSets } = snapshot;
  const tellsSchemas = Object.values(servedSets).some(({ schemas }) => schemas !== undefined);
  if (result.kind !== 'refused' || result.isInvalid !== true || !tellsSchemas) return '';
  return ' (422): routers of earlier releases do not know what it tells of schemas; upgrade them, or run sync with --compare-schemas=false until then';
}

function describe(result: DeliveryResult): string {
  return result.kind === 'accepted' ? result.kind : `${result.kind}: ${result.message}`;
}

import { errorMessage } from '../runtime/errors.ts';
import type { Logger } from '../runtime/logger.ts';
import { backOffDelay, type Clock } from '../runtime/time.ts';
import { setsText } from '../snapshot/format/packed-snapshot.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { HeldSnapshot } from '../snapshot/receiving/snapshot-endpoint.ts';
import { type SigningKey, sealChecked } from '../snapshot/signing/seal.ts';
import type { SyncObserver } from './documents/sync-server.ts';
import type { SyncTiming } from './documents/timing.ts';

export interface Delivery {
  readonly snapshot: Snapshot;
  /** Signed; `undefined` without a signing key: only files accept that. */
  readonly sealed: SealedDelivery | undefined;
}

export interface SealedDelivery {
  readonly snapshot: string;
  /** The same for who holds what was delivered before: without the sets of that. `undefined`: nothing was. */
  readonly change: { readonly from: string; readonly snapshot: string } | undefined;
  /** Content that a router holds once it has accepted the delivery. */
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

/** The snapshot that is delivered now, renewed and numbered. */
export class Publication {
  readonly #options: PublicationOptions;
  #current: Delivery | undefined;
  /** Highest generation that a router holds of somebody else. */
  #held = 0;
  #overtakes = 0;
  // Both by the monotonic clock, so that a clock that is set back delays no renewal.
  #renewAt = 0;
  #overtakeAt = 0;

  constructor(options: PublicationOptions) {
    this.#options = options;
  }

  /** @returns the one that is being delivered */
  snapshot(): Snapshot | undefined {
    return this.#current?.snapshot;
  }

  /** Delivers this from now on. @throws {SnapshotError} if it cannot be sealed; the last one stays then. */
  async publish(given: Snapshot): Promise<void> {
    const { clock, timing, signingKey, offer } = this.#options;
    const { metadata } = given;
    // Another sync job may have made what a router holds: a change does not wait for its turn to overtake that.
    const generation = Math.max(metadata.generation, this.#held + 1);
    const snapshot = { ...given, metadata: { ...metadata, generation } };
    const delivery = await sealDelivery(snapshot, signingKey, this.#current);
    this.#current = delivery;
    // A snapshot of an earlier run may be due for renewal.
    const age = Math.max(0, clock.now() - Date.parse(snapshot.metadata.createdAt));
    this.#renewAt = clock.monotonic() + timing.renewal - age;
    offer(delivery);
  }

  /** A router holds another snapshot with this generation, which is at least as high as the one delivered. */
  newerHeld(generation: number): void {
    this.#held = Math.max(generation, this.#held);
  }

  /** Renews if the cluster could be read just now, or overtakes, if it is time to. */
  async keepInForce(hasRead: boolean): Promise<void> {
    if (this.#current === undefined) return;
    const { clock, timing } = this.#options;
    const now = clock.monotonic();
    const isHeldElsewhere = this.#held >= this.#current.snapshot.metadata.generation;
    const mayOvertake = now >= this.#overtakeAt;
    if (!isHeldElsewhere && mayOvertake) this.#overtakes = 0;
    if (isHeldElsewhere && mayOvertake) {
      this.#overtakes++;
      // Two sync jobs that push to one router overtake each other for ever: the back-off makes that slow.
      this.#overtakeAt = now + backOffDelay(timing.refusalBackOff, this.#overtakes, clock.random());
      await this.#publishAsOfNow(this.#current);
    } else if (!isHeldElsewhere && hasRead && now >= this.#renewAt) {
      await this.#publishAsOfNow(this.#current);
    }
  }

  /** Makes the snapshot that a router holds young again, or overtakes it. */
  #publishAsOfNow({ snapshot }: Delivery): Promise<void> {
    const createdAt = new Date(this.#options.clock.now()).toISOString();
    return this.publish({ ...snapshot, metadata: { ...snapshot.metadata, createdAt } });
  }
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

/** Keeps one target at the newest snapshot, with its own retries. */
export class TargetDelivery {
  readonly #target: SnapshotTarget;
  readonly #options: TargetDeliveryOptions;
  #current: Delivery | undefined;
  /** Aborts when another snapshot is offered; ends every wait. */
  #offered = new AbortController();
  #attempted = Promise.withResolvers<void>();
  #held: Delivery | undefined;
  #lastResult: DeliveryResult | undefined;
  #failures = 0;
  #lastAcceptedAt: number | undefined;

  constructor(target: SnapshotTarget, options: TargetDeliveryOptions) {
    this.#target = target;
    this.#options = options;
  }

  /** Makes this the snapshot to deliver, instead of any earlier one. Resolves once that, or a later one, has been tried. */
  offer(delivery: Delivery): Promise<void> {
    this.#current = delivery;
    this.#offered.abort();
    this.#offered = new AbortController();
    return this.#attempted.promise;
  }

  /** Delivers until `signal` aborts. Never rejects. Once only. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const delivery = this.#current;
      const wake = this.#offered.signal;
      if (delivery !== undefined) {
        await this.#attempt(delivery, signal);
        if (delivery === this.#current) {
          this.#attempted.resolve();
          this.#attempted = Promise.withResolvers();
        }
      }
      // A new snapshot does not shorten the back-off of an unreachable target.
      const isUnreachable = delivery !== undefined && this.#lastResult?.kind === 'unreachable';
      const until = isUnreachable ? signal : AbortSignal.any([signal, wake]);
      await this.#options.clock.sleep(this.#delay(), until);
    }
  }

  status(): TargetStatus {
    return {
      target: this.#target.name,
      heldGeneration: this.#held?.snapshot.metadata.generation,
      lastResult: this.#lastResult,
      failures: this.#failures,
      lastAcceptedAt: this.#lastAcceptedAt,
    };
  }

  async #attempt(delivery: Delivery, signal: AbortSignal): Promise<void> {
    const { clock, observer } = this.#options;
    if (await this.#stillHolds(delivery, signal)) return;
    const begun = clock.monotonic();
    const result = await deliverTo(this.#target, delivery, signal);
    if (signal.aborted) return;
    const seconds = (clock.monotonic() - begun) / 1000;
    observer?.delivered({ target: this.#target.name, seconds, result: result.kind });
    this.#keep(delivery, result);
  }

  async #stillHolds(delivery: Delivery, signal: AbortSignal): Promise<boolean> {
    if (this.#held !== delivery) return false;
    // After a failure, the delivery that follows reports it.
    return this.#target.holds?.(delivery, signal).catch(() => false) ?? true;
  }

  #keep(delivery: Delivery, result: DeliveryResult): void {
    const { clock, logger, onNewerHeld } = this.#options;
    const { generation } = delivery.snapshot.metadata;
    const fields = { target: this.#target.name, generation };
    if (result.kind === 'accepted') {
      if (this.#held !== delivery) logger.info(fields, 'Snapshot delivered');
      this.#held = delivery;
      this.#failures = 0;
      this.#lastAcceptedAt = clock.now();
    } else {
      this.#held = undefined;
      this.#failures++;
      // Logged once per reason, so that a target that stays unreachable does not fill the log.
      if (this.#lastResult === undefined || describe(this.#lastResult) !== describe(result)) {
        logger.warn({ ...fields, reason: result.message }, `Snapshot not delivered: ${result.kind}`);
      }
      if (result.kind === 'newer-held') onNewerHeld(result.generation ?? generation);
    }
    this.#lastResult = result;
  }

  /** @returns milliseconds until the next attempt, or the next question whether it still holds the snapshot */
  #delay(): number {
    const { clock, timing } = this.#options;
    if (this.#failures === 0) return timing.check;
    const isUnreachable = this.#lastResult?.kind === 'unreachable';
    const backOff = isUnreachable ? timing.deliveryBackOff : timing.refusalBackOff;
    return backOffDelay(backOff, this.#failures, clock.random());
  }
}

function describe(result: DeliveryResult): string {
  return result.kind === 'accepted' ? result.kind : `${result.kind}: ${result.message}`;
}

import { type BackOff, backOffDelay, type Clock } from '../../runtime/time.ts';
import type { Snapshot } from '../../snapshot/format/schema.ts';
import type { SigningKey } from '../../snapshot/signing/seal.ts';
import { type Delivery, renewDelivery, sealDelivery } from './deliver.ts';

interface PublicationOptions {
  readonly clock: Clock;
  readonly signingKey: SigningKey | undefined;
  /** Milliseconds between renewals. */
  readonly renewal: number;
  /** Between attempts to overtake a router that holds a higher generation. */
  readonly overtakeBackOff: BackOff;
  /** Called with what is to be delivered from now on. */
  readonly offer: (delivery: Delivery) => void;
}

/** The snapshot that is being delivered, with its renewals and its generation. */
export function createPublication(options: PublicationOptions) {
  const { clock, signingKey, offer } = options;
  let current: Delivery | undefined;
  let held: number | undefined;
  let overtakes = 0;
  // Both by the monotonic clock, so that a clock that is set back delays no renewal.
  let renewAt = 0;
  let overtakeAt = 0;

  /** Delivers this from now on. @throws {SnapshotError} if it cannot be sealed; the last one stays then. */
  async function publish(snapshot: Snapshot): Promise<void> {
    current = await sealDelivery(snapshot, signingKey);
    // A snapshot of an earlier run may be due for renewal.
    const age = Math.max(0, clock.now() - Date.parse(snapshot.metadata.createdAt));
    renewAt = clock.monotonic() + options.renewal - age;
    offer(current);
  }

  async function overtake({ snapshot }: Delivery, held: number): Promise<void> {
    overtakes++;
    // Two sync jobs that push to one router overtake each other for ever: the back-off makes that slow.
    overtakeAt = clock.monotonic() + backOffDelay(options.overtakeBackOff, overtakes, clock.random());
    const createdAt = new Date(clock.now()).toISOString();
    await publish({ ...snapshot, metadata: { ...snapshot.metadata, generation: held + 1, createdAt } });
  }

  async function renew(delivery: Delivery): Promise<void> {
    current = await renewDelivery(delivery, signingKey, clock.now());
    renewAt = clock.monotonic() + options.renewal;
    offer(current);
  }

  return {
    publish,
    /** A router holds another snapshot with this generation, which is at least as high as the one delivered. */
    newerHeld(generation: number): void {
      held = Math.max(generation, held ?? 0);
    },
    /** The highest such generation, for `nextGeneration`. */
    heldGeneration: () => held,
    /**
     * Renews or overtakes if it is time to.
     * @param hasRead whether the cluster could be read just now: nothing is renewed without
     * @returns the snapshot that is being delivered afterwards
     */
    async keepInForce(hasRead: boolean): Promise<Snapshot | undefined> {
      const generation = current?.snapshot.metadata.generation;
      const isHeldElsewhere = held !== undefined && generation !== undefined && held >= generation;
      if (!isHeldElsewhere && clock.monotonic() >= overtakeAt) overtakes = 0;
      if (isHeldElsewhere && current !== undefined && held !== undefined && clock.monotonic() >= overtakeAt) {
        await overtake(current, held);
      } else if (hasRead && current !== undefined && clock.monotonic() >= renewAt) {
        await renew(current);
      }
      return current?.snapshot;
    },
  };
}

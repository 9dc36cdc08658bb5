import { type BackOff, backOffDelay, type Clock } from '../../runtime/clock.ts';
import type { Snapshot } from '../../snapshot/format/types.ts';
import type { SigningKey } from '../../snapshot/signing/signing-key.ts';
import { type Delivery, renewDelivery, sealDelivery } from './deliver.ts';

export interface PublicationOptions {
  readonly clock: Clock;
  readonly signingKey: SigningKey | undefined;
  /** Between attempts to overtake a router that keeps holding something newer. */
  readonly overtakeBackOff: BackOff;
  /** Called with what is to be delivered from now on; `undefined`: nothing any more. */
  readonly offer: (delivery: Delivery | undefined) => void;
}

/** The snapshot that is being delivered, and everything that keeps it in force. */
export interface Publication {
  /** Delivers this from now on. @throws {SnapshotError} when it cannot be sealed; the last one stays then. */
  publish(snapshot: Snapshot): Promise<void>;
  /** Delivers nothing any more, until the next `publish`: somebody else does. */
  withdraw(): void;
  /** A router answered that it holds a generation at least as high with other content. */
  newerHeld(generation: number): void;
  /** The highest such generation, for `nextGeneration`. */
  heldGeneration(): number | undefined;
  /** Renews or overtakes when it is time to. @returns the snapshot in force afterwards */
  keepInForce(): Promise<Snapshot | undefined>;
}

export function createPublication(options: PublicationOptions): Publication {
  const { clock, signingKey, offer } = options;
  let current: Delivery | undefined;
  let held: number | undefined;
  let overtakes = 0;
  // Both by the monotonic clock: set back, the machine's own would keep the snapshot from being renewed in time.
  let renewAt = 0;
  let overtakeAt = 0;

  async function publish(snapshot: Snapshot): Promise<void> {
    const { createdAt, lifetimeSeconds } = snapshot.metadata;
    current = await sealDelivery(snapshot, signingKey);
    // What an earlier run or another leader made may be due already.
    const age = Math.max(0, clock.now() - Date.parse(createdAt));
    renewAt = clock.monotonic() + renewalDelay(lifetimeSeconds) - age;
    offer(current);
  }

  async function overtake({ snapshot }: Delivery, held: number): Promise<void> {
    overtakes++;
    // Two sync jobs that know nothing of each other would overtake each other for ever; let it be slowly.
    overtakeAt = clock.monotonic() + backOffDelay(options.overtakeBackOff, overtakes, clock.random());
    const createdAt = new Date(clock.now()).toISOString();
    await publish({ ...snapshot, metadata: { ...snapshot.metadata, generation: held + 1, createdAt } });
  }

  async function renew(delivery: Delivery): Promise<void> {
    current = await renewDelivery(delivery, signingKey, clock.now());
    renewAt = clock.monotonic() + renewalDelay(delivery.snapshot.metadata.lifetimeSeconds);
    offer(current);
  }

  return {
    publish,
    withdraw() {
      current = undefined;
      offer(undefined);
    },
    newerHeld(generation) {
      held = Math.max(generation, held ?? 0);
    },
    heldGeneration: () => held,
    async keepInForce() {
      const generation = current?.snapshot.metadata.generation;
      const isHeldElsewhere = held !== undefined && generation !== undefined && held >= generation;
      if (!isHeldElsewhere && clock.monotonic() >= overtakeAt) overtakes = 0;
      if (isHeldElsewhere && current !== undefined && held !== undefined && clock.monotonic() >= overtakeAt) {
        await overtake(current, held);
      } else if (current !== undefined && clock.monotonic() >= renewAt) {
        await renew(current);
      }
      return current?.snapshot;
    },
  };
}

/** Half of the lifetime before its end, so that routers can live through a fault of the other half's length. */
function renewalDelay(lifetimeSeconds: number): number {
  return (lifetimeSeconds * 1000) / 2;
}

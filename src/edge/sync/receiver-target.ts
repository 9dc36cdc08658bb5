import { SnapshotError } from '../../snapshot/format/snapshot-error.ts';
import type { Acceptance, SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import { sealRenewal } from '../../snapshot/signing/renewal.ts';
import type { SigningKey } from '../../snapshot/signing/signing-key.ts';
import type { Delivery, DeliveryResult, SnapshotTarget } from '../../sync/delivery/deliver.ts';

/**
 * Delivers to this Worker's own receiver, which checks what comes as it checks a push. A snapshot that it holds
 * already is renewed: nobody else keeps it in force between two rounds.
 *
 * @param clock milliseconds since the epoch
 */
export function receiverTarget(
  receiver: SnapshotReceiver,
  key: SigningKey,
  clock: () => number,
): SnapshotTarget {
  async function take({ snapshot, sealed }: Delivery): Promise<Acceptance> {
    const digest = receiver.digest();
    if (receiver.current()?.snapshot === snapshot && digest !== undefined) {
      const { generation, lifetimeSeconds } = snapshot.metadata;
      const createdAt = new Date(clock()).toISOString();
      return receiver.renew(await sealRenewal({ generation, digest, createdAt, lifetimeSeconds }, key));
    }
    return receiver.accept(sealed?.snapshot ?? '');
  }

  return {
    name: 'this Worker',
    async put(delivery): Promise<DeliveryResult> {
      try {
        const { persisted, persistenceError } = await take(delivery);
        // In use in this isolate alone, which is about to end.
        return persisted
          ? { kind: 'accepted' }
          : { kind: 'unreachable', message: persistenceError ?? 'the store could not be written' };
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
        return error.code === 'NotNewer'
          ? { kind: 'newer-held', generation: receiver.current()?.generation, message: error.message }
          : { kind: 'refused', message: error.message };
      }
    },
  };
}

import { SnapshotError } from '../../snapshot/format/snapshot-error.ts';
import type { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import type { DeliveryResult, SnapshotTarget } from './deliver.ts';

/**
 * Delivers to the router in whose process the sync job runs: to the receiver of pushes, unsigned. It does not check
 * creation times, because both use the same clock.
 */
export function ownRouterTarget(receiver: Pick<SnapshotReceiver, 'acceptOwn' | 'current'>): SnapshotTarget {
  return {
    name: 'this router',
    async put({ snapshot }): Promise<DeliveryResult> {
      try {
        await receiver.acceptOwn(snapshot);
        return { kind: 'accepted' };
      } catch (error) {
        if (!(error instanceof SnapshotError)) throw error;
        const { code, message } = error;
        return code === 'NotNewer'
          ? { kind: 'newer-held', generation: receiver.current()?.generation, message }
          : { kind: 'refused', message, isInvalid: code === 'Invalid' };
      }
    },
    // An accepted snapshot stays for the life of the process.
    async holds({ snapshot: { metadata } }) {
      const table = receiver.current();
      return table?.generation === metadata.generation && table.createdAt === Date.parse(metadata.createdAt);
    },
  };
}

import { SnapshotError } from '../../snapshot/format/snapshot-error.ts';
import type { SnapshotReceiver } from '../../snapshot/receiving/receiver.ts';
import type { DeliveryResult, SnapshotTarget } from './deliver.ts';

/**
 * Delivers to the router in whose process the sync job runs: to the one receiver that pushes go to as well, unsigned. It
 * vouches for no clock, for both have the same: when that is set back, both follow.
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
    // In one process what was taken stays.
    async holds({ snapshot: { metadata } }) {
      const table = receiver.current();
      return table?.generation === metadata.generation && table.createdAt === Date.parse(metadata.createdAt);
    },
  };
}

import type { Logger } from '../../runtime/logger.ts';
import type { SharedSnapshotStore } from '../../snapshot/receiving/shared-snapshot-store.ts';
import { SharingReceiver } from '../../snapshot/receiving/sharing-receiver.ts';
import type { StoredSnapshot } from '../../snapshot/receiving/snapshot-store.ts';
import type { SnapshotConfiguration, SnapshotStoreConfiguration } from '../configuration/configuration.ts';
import { createDurableObjectStore } from './durable-object-store.ts';
import { createKvStore } from './kv-store.ts';
import { SnapshotRefresh } from './snapshot-refresh.ts';

/** The receiver of an isolate, and what keeps it up to date. */
export async function createSnapshotKeeping(
  { keys, addressPolicy, store, initial }: SnapshotConfiguration,
  logger: Logger,
): Promise<{ readonly receiver: SharingReceiver; readonly refresh: SnapshotRefresh }> {
  const receiver = new SharingReceiver({ keys: () => keys, addressPolicy, store: storeOf(store), logger });
  if (initial !== undefined) await receiver.adopt({ snapshot: initial.trim() });
  return { receiver, refresh: new SnapshotRefresh({ receiver, logger }) };
}

function storeOf(store: SnapshotStoreConfiguration): SharedSnapshotStore {
  if (store.kind === 'durable-object') return createDurableObjectStore(store.namespace, store.name);
  return store.kind === 'kv' ? createKvStore(store.namespace, store.name) : createIsolateStore();
}

/** Nobody else writes to the memory of an isolate, and it does not outlive it. */
function createIsolateStore(): SharedSnapshotStore {
  let kept: StoredSnapshot | undefined;
  return {
    changed: async () => undefined,
    takeNoteOf() {},
    load: async () => kept,
    async save(stored) {
      kept = stored;
    },
  };
}

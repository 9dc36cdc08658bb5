import type { SnapshotStore, StoredSnapshot } from './snapshot-store.ts';

/** Keeps the snapshot for as long as the process lives: for tests, and where nothing outlives it anyway. */
export function createMemorySnapshotStore(stored?: StoredSnapshot): SnapshotStore {
  let kept = stored;
  return {
    load: async () => kept,
    save: async (next) => {
      kept = next;
    },
  };
}

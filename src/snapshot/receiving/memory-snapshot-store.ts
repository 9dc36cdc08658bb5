import type { SnapshotStore, StoredSnapshot } from './snapshot-store.ts';

/**
 * Keeps the snapshot for as long as the process lives: for tests, and where nothing outlives it anyway.
 *
 * @example
 * ```ts
 * const receiver = new SnapshotReceiver({
 *   keys: () => new Map(),
 *   addressPolicy: createAddressPolicy(),
 *   store: createMemorySnapshotStore(),
 * });
 * console.log(receiver.current()); // undefined
 * ```
 */
export function createMemorySnapshotStore(stored?: StoredSnapshot): SnapshotStore {
  let kept = stored;
  return {
    load: async () => kept,
    save: async (next) => {
      kept = next;
    },
  };
}

/**
 * Keeps a snapshot with its signature, so that a restart checks that again and trusts no disk for what the cluster serves.
 */
export interface SnapshotStore {
  /** The text that was saved last, `undefined` when there is none. Rejects when the store cannot be read. */
  load(): Promise<string | undefined>;
  /**
   * Replaces what is stored, whole or not at all. Rejects when it is not certain that it was; with
   * `StoreChangedError` when a store that several share holds something that this receiver does not know yet.
   *
   * @param sealed as `sealSnapshot` makes it, or as the receiver that owns the store writes it
   */
  save(sealed: string): Promise<void>;
}

/** Another writer has changed the shared store: the snapshot must be checked against the new one. */
export class StoreChangedError extends Error {
  override readonly name = 'StoreChangedError';
  constructor() {
    super('Another receiver has stored a snapshot meanwhile.');
  }
}

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
export function createMemorySnapshotStore(stored?: string): SnapshotStore {
  let kept = stored;
  return {
    load: async () => kept,
    save: async (next) => {
      kept = next;
    },
  };
}

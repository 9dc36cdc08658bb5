/** What a store keeps: sealed as it came, so that a restart checks the signature again and trusts no disk. */
export interface StoredSnapshot {
  /** As `sealSnapshot` makes it. */
  readonly snapshot: string;
  /** Compact JWS of the last renewal of this snapshot. */
  readonly renewal?: string | undefined;
}

export interface SnapshotStore {
  /** What was saved last, `undefined` when there is nothing. Rejects when the store cannot be read. */
  load(): Promise<StoredSnapshot | undefined>;
  /**
   * Replaces what is stored, whole or not at all. Rejects when it is not certain that it was; with
   * `StoreChangedError` when a store that several share holds something that this receiver does not know yet.
   */
  save(stored: StoredSnapshot): Promise<void>;
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
export function createMemorySnapshotStore(stored?: StoredSnapshot): SnapshotStore {
  let kept = stored;
  return {
    load: async () => kept,
    save: async (next) => {
      kept = next;
    },
  };
}

/**
 * What is held, as text for a file or a key-value store: the sealed snapshot on two lines, its last renewal on
 * the third. A bare sealed snapshot is such a text, too.
 */
export function storedSnapshotText({ snapshot, renewal }: StoredSnapshot): string {
  return renewal === undefined ? `${snapshot}\n` : `${snapshot}\n${renewal}\n`;
}

/** Reads such a text. Nothing is checked: what comes back goes through `SnapshotReceiver`. */
export function parseStoredSnapshotText(text: string): StoredSnapshot {
  const [jws = '', ...lines] = text.trimEnd().split(/\r?\n/, 3);
  const sets = lines.find((line) => line.startsWith('{'));
  const renewal = lines.find((line) => line !== sets);
  const snapshot = sets === undefined ? jws : `${jws}\n${sets}`;
  return renewal === undefined ? { snapshot } : { snapshot, renewal };
}

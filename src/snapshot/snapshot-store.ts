/** What a store keeps: sealed as it came, so that a restart checks the signature again and trusts no disk. */
export interface StoredSnapshot {
  /** Compact JWS. */
  readonly snapshot: string;
  /** Compact JWS of the last renewal of this snapshot. */
  readonly renewal?: string | undefined;
}

/** Where the last good snapshot outlives the process. */
export interface SnapshotStore {
  /** What was saved last, `undefined` when there is nothing. Rejects when the store cannot be read. */
  load(): Promise<StoredSnapshot | undefined>;
  /** Replaces what is stored, whole or not at all. Rejects when it is not certain that it was. */
  save(stored: StoredSnapshot): Promise<void>;
}

import { withDeadline } from '../../runtime/deadline.ts';
import type { SnapshotStore, StoredSnapshot } from './snapshot-store.ts';

/** A stored snapshot, with a tag that changes with every write. */
export interface TaggedSnapshot {
  readonly tag: string;
  /** `undefined`: nothing is stored. */
  readonly stored: StoredSnapshot | undefined;
}

/**
 * A store that several receivers share: the isolates of a Worker (used by the edge only). Each writes only over
 * what it knows: `save` of `SnapshotStore` replaces what the receiver has last taken note of, and fails with
 * `StoreChangedError` when another was quicker. That is what keeps a generation from falling, whichever receiver a
 * push comes to.
 */
export interface SharedSnapshotStore extends SnapshotStore {
  /** The stored snapshot, if it differs from the one that was last noted. Does not note it. */
  changed(): Promise<TaggedSnapshot | undefined>;
  /** From now on `save` replaces this. */
  takeNoteOf(tag: string): void;
}

/** Milliseconds for one exchange with the store; a request must not hang with it. */
export const storeTimeout = 5_000;

/** @throws {Error} when `work` has not ended in time. */
export function withinStoreTimeout<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const timedOut = () => new Error(`${what} did not respond within ${storeTimeout} ms`);
  return withDeadline(storeTimeout, undefined, timedOut, () => work);
}

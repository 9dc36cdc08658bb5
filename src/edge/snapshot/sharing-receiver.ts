import { withDeadline } from '../../runtime/time.ts';
import { SnapshotError } from '../../snapshot/format/snapshot-error.ts';
import {
  type Acceptance,
  SnapshotReceiver,
  type SnapshotReceiverOptions,
} from '../../snapshot/receiving/receiver.ts';
import {
  type SnapshotStore,
  StoreChangedError,
  type StoredSnapshot,
} from '../../snapshot/receiving/snapshot-store.ts';

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

/** How often a push is tried, because another receiver has written to the store meanwhile. */
const attempts = 5;

/**
 * One receiver among several that share a store, as the isolates of a Worker do (used by the edge only). Before it takes
 * a push it reads what the others have stored. What it reads passes the same checks as what is pushed, and replaces
 * nothing that is newer.
 */
export class SharingReceiver extends SnapshotReceiver {
  readonly #store: SharedSnapshotStore;

  constructor(options: SnapshotReceiverOptions & { readonly store: SharedSnapshotStore }) {
    super(options);
    this.#store = options.store;
  }

  override accept(jws: string): Promise<Acceptance> {
    return this.#knowingTheOthers(() => super.accept(jws));
  }

  override renew(jws: string): Promise<Acceptance> {
    return this.#knowingTheOthers(() => super.renew(jws));
  }

  /**
   * Takes over what another one has stored since.
   * @throws when the store cannot be read
   */
  async catchUp(): Promise<void> {
    const change = await this.#store.changed();
    if (change === undefined) return;
    if (change.stored !== undefined) await this.adopt(change.stored);
    // Also when it was refused: an unusable snapshot may be replaced, and is not read again.
    this.#store.takeNoteOf(change.tag);
  }

  async #knowingTheOthers(take: () => Promise<Acceptance>): Promise<Acceptance> {
    for (let attempt = 1; ; attempt++) {
      // With the store away a push still counts here, and the response says that it was not stored.
      await this.catchUp().catch(() => undefined);
      try {
        return await take();
      } catch (error) {
        if (!(error instanceof StoreChangedError)) throw error;
        if (attempt < attempts) continue;
        const message = 'Other pushes kept coming first; push it again.';
        const refusal = new SnapshotError('NotNewer', message, { cause: error });
        this.tellOfRefusal(refusal);
        throw refusal;
      }
    }
  }
}

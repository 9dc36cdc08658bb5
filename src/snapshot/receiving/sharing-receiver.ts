import { SnapshotError } from '../format/snapshot-error.ts';
import type { Acceptance } from './held-snapshot.ts';
import { SnapshotReceiver } from './receiver.ts';
import type { SnapshotReceiverOptions } from './receiver-options.ts';
import type { SharedSnapshotStore } from './shared-snapshot-store.ts';
import { StoreChangedError } from './snapshot-store.ts';

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

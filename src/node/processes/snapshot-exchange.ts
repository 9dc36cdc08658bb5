import type { Logger } from '../../observe/logger.ts';
import type { SnapshotStore, StoredSnapshot } from '../../snapshot/snapshot-store.ts';
import type { ChangedSnapshot, SavedSnapshot } from './messages.ts';

/** The tag of what was there before any push: the file's content, or nothing. */
export const tagAtStart = '0';

/** A process that has to hear of new snapshots. */
export interface SnapshotUser {
  readonly number: number;
  /** Has it take what is stored. Resolves once that is in use there; rejects when it does not say so in time. */
  catchUp(): Promise<void>;
}

/**
 * The snapshot that all processes share, sealed as it came. Nothing is verified here: each process does that, by the
 * same checks as for a push. The supervisor alone reads and writes the file.
 */
export class SnapshotExchange {
  readonly #store: SnapshotStore;
  readonly #logger: Logger;
  #loaded: Promise<void> | undefined;
  #stored: StoredSnapshot | undefined;
  #version = Number(tagAtStart);

  constructor(store: SnapshotStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  /** What is stored, if that is not what is known. @throws when the file cannot be read */
  async changed(known: string): Promise<ChangedSnapshot> {
    // Read once, by whichever process comes first: from then on nobody else writes it.
    this.#loaded ??= this.#load();
    await this.#loaded;
    if (known === this.#tag) return null;
    return { tag: this.#tag, stored: this.#stored ?? null };
  }

  /**
   * Keeps what a process is about to use, unless something else is stored than what it has judged by. Resolves when
   * all others have it in use, or have been waited for long enough.
   */
  async save(known: string, stored: StoredSnapshot, others: readonly SnapshotUser[]): Promise<SavedSnapshot> {
    if (known !== this.#tag) return { result: 'changed' };
    this.#stored = stored;
    this.#version += 1;
    const tag = this.#tag;
    // A file that cannot be read is written over: this is newer than whatever is in it.
    this.#loaded = Promise.resolve();
    const [fault] = await Promise.all([this.#write(stored), this.#tellAll(others)]);
    return { result: 'saved', tag, fault };
  }

  get #tag(): string {
    return String(this.#version);
  }

  async #load(): Promise<void> {
    const stored = await this.#store.load();
    // A push that came while the file was read is newer than whatever is in it.
    if (this.#tag === tagAtStart) this.#stored = stored;
  }

  async #write(stored: StoredSnapshot): Promise<string | null> {
    try {
      await this.#store.save(stored);
      return null;
    } catch (error) {
      return error instanceof Error ? error.message : String(error);
    }
  }

  async #tellAll(others: readonly SnapshotUser[]): Promise<void> {
    await Promise.all(
      others.map(async (other) => {
        try {
          await other.catchUp();
        } catch (error) {
          this.#logger.warn(
            { otherProcess: other.number, err: error },
            'A process has not said that it uses the new snapshot; it is not waited for any longer',
          );
        }
      }),
    );
  }
}

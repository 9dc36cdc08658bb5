import { errorMessage } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { type SnapshotStore, StoreChangedError } from './snapshot-store.ts';

interface StoredCopyOptions<Held> {
  readonly store: SnapshotStore | undefined;
  readonly textOf: (held: Held) => Promise<string>;
  readonly logger: Logger;
}

/**
 * Keeps a store up to date with what is in use: one write at a time, each of the newest. What comes while one is being
 * written replaces what waits, so a slow disk is never behind by more than one.
 */
export class StoredCopy<Held extends object> {
  readonly #options: StoredCopyOptions<Held>;
  #newest: Held | undefined;
  #stored: Held | undefined;
  #error: string | undefined;
  #underWay: Promise<unknown> = Promise.resolve();
  #next: Promise<string | undefined> | undefined;

  constructor(options: StoredCopyOptions<Held>) {
    this.#options = options;
  }

  /** Why the last write failed; `undefined`: it did not. */
  get error(): string | undefined {
    return this.#error;
  }

  has(held: Held): boolean {
    return this.#options.store === undefined || this.#stored === held;
  }

  /** The store was read: it has this. */
  read(held: Held): void {
    this.#stored = held;
  }

  /**
   * @returns why it is not stored; `undefined`: it is, or one that was given later
   * @throws {StoreChangedError}
   */
  save(held: Held): Promise<string | undefined> {
    this.#newest = held;
    this.#next ??= this.#write();
    return this.#next;
  }

  /** Resolves when nothing is being written. */
  async settled(): Promise<void> {
    while (this.#next !== undefined) await this.#next.catch(() => undefined);
    await this.#underWay;
  }

  async #write(): Promise<string | undefined> {
    await this.#underWay;
    this.#next = undefined;
    const writing = this.#writeNewest();
    this.#underWay = writing.catch(() => undefined);
    return writing;
  }

  async #writeNewest(): Promise<string | undefined> {
    const { store, textOf, logger } = this.#options;
    const newest = this.#newest;
    if (newest === undefined || newest === this.#stored) return undefined;
    try {
      if (store !== undefined) await store.save(await textOf(newest));
      this.#stored = newest;
      this.#error = undefined;
    } catch (error) {
      // The store may hold a newer one by now.
      if (error instanceof StoreChangedError) throw error;
      logger.warn({ err: error }, 'The snapshot is in use but could not be stored');
      this.#error = errorMessage(error);
    }
    return this.#error;
  }
}

import type { SharedSnapshotStore } from '../../snapshot/shared-snapshot-store.ts';
import { StoreChangedError, type StoredSnapshot } from '../../snapshot/snapshot-store.ts';
import type { Channel } from './channel.ts';
import {
  changedSnapshotSchema,
  type ProcessQuestion,
  type SupervisorQuestion,
  savedSnapshotSchema,
} from './messages.ts';
import { tagAtStart } from './snapshot-exchange.ts';

/** Milliseconds to read what is stored; a file is read once, at the start. */
const readTimeout = 10_000;
/** Milliseconds to write a snapshot and have the other processes take it: longer than the supervisor waits for them. */
const saveTimeout = 15_000;

/** What nothing is stored under: asked with it, the supervisor always tells what is stored. */
const nothingKnown = '';

/** The supervisor's snapshot, which all processes share. Each writes only over what it knows. */
export class ProcessSnapshotStore implements SharedSnapshotStore {
  readonly #channel: Channel<ProcessQuestion, SupervisorQuestion>;
  /** What is in a file that cannot be read is not known either, and may be written over. */
  #known = tagAtStart;

  constructor(channel: Channel<ProcessQuestion, SupervisorQuestion>) {
    this.#channel = channel;
  }

  async load(): Promise<StoredSnapshot | undefined> {
    const change = await this.#ask(nothingKnown);
    if (change === null) return undefined;
    this.#known = change.tag;
    return change.stored ?? undefined;
  }

  async changed(): ReturnType<SharedSnapshotStore['changed']> {
    const change = await this.#ask(this.#known);
    return change === null ? undefined : { tag: change.tag, stored: change.stored ?? undefined };
  }

  takeNoteOf(tag: string): void {
    this.#known = tag;
  }

  async save(stored: StoredSnapshot): Promise<void> {
    const saved = await this.#channel.ask(
      { kind: 'save-snapshot', known: this.#known, stored: { ...stored } },
      savedSnapshotSchema,
      saveTimeout,
    );
    if (saved.result === 'changed') throw new StoreChangedError();
    this.#known = saved.tag;
    if (saved.fault !== null) throw new Error(saved.fault);
  }

  #ask(known: string) {
    return this.#channel.ask({ kind: 'changed-snapshot', known }, changedSnapshotSchema, readTimeout);
  }
}

import {
  type SharedSnapshotStore,
  withinStoreTimeout,
} from '../../snapshot/receiving/shared-snapshot-store.ts';
import {
  parseStoredSnapshotText,
  StoreChangedError,
  storedSnapshotText,
} from '../../snapshot/receiving/snapshot-store.ts';
import type { KvNamespace } from '../platform/bindings.ts';

/** Of one value, in bytes (developers.cloudflare.com/kv/platform/limits). Emulators take more. */
export const maximumKvValue = 25 * 1024 * 1024;

/**
 * Keeps the snapshot under a key of Workers KV, in the form in which the sync job writes it there.
 *
 * KV is eventually consistent: a location may read what was replaced up to a minute ago, and of two writes the last one
 * counts. Comparing before writing narrows that gap and cannot close it; the generation that an isolate holds never
 * falls all the same, for what it reads is accepted like a push. The value is its own tag.
 */
export function createKvStore(namespace: KvNamespace, key: string): SharedSnapshotStore {
  let known = '';

  async function read(): Promise<string> {
    const text = (await withinStoreTimeout('Workers KV', namespace.get(key, 'text'))) ?? '';
    // Beyond what any sealed snapshot has, and refused by the receiver: not worth holding on to.
    return text.length > maximumKvValue ? '' : text;
  }

  return {
    async changed() {
      const text = await read();
      if (text === known) return undefined;
      return { tag: text, stored: text === '' ? undefined : parseStoredSnapshotText(text) };
    },
    takeNoteOf(tag) {
      known = tag;
    },
    async load() {
      const text = await read();
      return text === '' ? undefined : parseStoredSnapshotText(text);
    },
    async save(stored) {
      const text = storedSnapshotText(stored);
      const { byteLength } = new TextEncoder().encode(text);
      if (byteLength > maximumKvValue) {
        throw new Error(
          `the snapshot has ${byteLength} bytes, a value of Workers KV at most ${maximumKvValue}`,
        );
      }
      if ((await read()) !== known) throw new StoreChangedError();
      await withinStoreTimeout('Workers KV', namespace.put(key, text));
      known = text;
    },
  };
}

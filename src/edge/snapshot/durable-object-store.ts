import { readText } from '../../runtime/bytes.ts';
import { storedSnapshotLimit } from '../../snapshot/format/limits.ts';
import {
  parseStoredSnapshotText,
  StoreChangedError,
  storedSnapshotText,
} from '../../snapshot/receiving/snapshot-store.ts';
import type { DurableObjectNamespace } from '../platform/bindings.ts';
import {
  type SharedSnapshotStore,
  storeTimeout,
  type TaggedSnapshot,
  withinStoreTimeout,
} from './sharing-receiver.ts';

/** Its host is never resolved: a stub hands on the path alone. */
const url = 'https://snapshot-object/';
const nothingStored = '';

/** Keeps the snapshot in the one Durable Object `SnapshotObject`. */
export function createDurableObjectStore(namespace: DurableObjectNamespace): SharedSnapshotStore {
  let knownTag = nothingStored;

  const ask = (init: RequestInit): Promise<Response> => {
    // A new stub each time: one that has met an error stays broken (developers.cloudflare.com/durable-objects).
    const stub = namespace.get(namespace.idFromName('snapshot'));
    const signal = AbortSignal.timeout(storeTimeout);
    return withinStoreTimeout('the Durable Object', stub.fetch(url, { ...init, signal }));
  };

  async function read(tag: string): Promise<TaggedSnapshot | undefined> {
    const response = await ask({ headers: tag === nothingStored ? {} : { 'if-none-match': tag } });
    if (response.status === 304) return undefined;
    if (response.status === 404) {
      await response.body?.cancel();
      return tag === nothingStored ? undefined : { tag: nothingStored, stored: undefined };
    }
    const text =
      response.status === 200 && response.body !== null
        ? await readText(response.body, storedSnapshotLimit)
        : undefined;
    if (text === undefined) throw new Error(`the Durable Object responded with status ${response.status}`);
    return { tag: response.headers.get('etag') ?? nothingStored, stored: parseStoredSnapshotText(text) };
  }

  return {
    changed: () => read(knownTag),
    takeNoteOf(tag) {
      knownTag = tag;
    },
    load: async () => (await read(nothingStored))?.stored,
    async save(stored) {
      const headers: Record<string, string> =
        knownTag === nothingStored ? { 'if-none-match': '*' } : { 'if-match': knownTag };
      const response = await ask({ method: 'PUT', headers, body: storedSnapshotText(stored) });
      await response.body?.cancel();
      if (response.status === 412) throw new StoreChangedError();
      if (response.status !== 204)
        throw new Error(`the Durable Object responded with status ${response.status}`);
      knownTag = response.headers.get('etag') ?? nothingStored;
    },
  };
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createKvStore, maximumKvValue } from './kv-store.ts';

/** A namespace without the limits of the real one, as emulators are. */
function namespace() {
  const values = new Map<string, string>();
  return {
    values,
    get: async (key: string) => values.get(key) ?? null,
    put: async (key: string, value: string) => void values.set(key, value),
  };
}

test('what is larger than a value of Workers KV may be is not written, and the error says so', async () => {
  const kv = namespace();
  const store = createKvStore(kv, 'snapshot');
  const tooLarge = 'x'.repeat(maximumKvValue + 1);
  await assert.rejects(store.save({ snapshot: tooLarge }), /a value of Workers KV at most 26214400/);
  assert.equal(kv.values.size, 0);
  await store.save({ snapshot: 'a.b.c' });
  assert.equal((await store.load())?.snapshot, 'a.b.c');
});

test('a value that is larger than any snapshot counts as none', async () => {
  const kv = namespace();
  kv.values.set('snapshot', 'x'.repeat(maximumKvValue + 1));
  assert.equal(await createKvStore(kv, 'snapshot').load(), undefined);
});

test('what another isolate has written since is not written over', async () => {
  const kv = namespace();
  const store = createKvStore(kv, 'snapshot');
  kv.values.set('snapshot', 'd.e.f');
  await assert.rejects(store.save({ snapshot: 'a.b.c' }), { name: 'StoreChangedError' });
  const change = await store.changed();
  assert.equal(change?.stored?.snapshot, 'd.e.f');
  store.takeNoteOf(change.tag);
  assert.equal(await store.changed(), undefined);
  await store.save({ snapshot: 'a.b.c' });
  assert.equal((await store.load())?.snapshot, 'a.b.c');
});

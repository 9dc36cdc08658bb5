import assert from 'node:assert/strict';
import { duplexPair, PassThrough } from 'node:stream';
import { test } from 'node:test';
import { ExampleStore } from '../../demo/example-api-server/index.ts';
import { configMaps } from '../../scripts/experiment/clients/subjects.ts';
import { serveStore } from '../../scripts/experiment/cluster/serve-store.ts';
import {
  frame,
  type StoreCall,
  type StoreReply,
  unframe,
} from '../../scripts/experiment/cluster/store-calls.ts';

function serving(store: ExampleStore) {
  const [near, far] = duplexPair();
  serveStore(store, far, new PassThrough());
  return (call: StoreCall): Promise<StoreReply> => {
    const { promise, resolve } = Promise.withResolvers<StoreReply>();
    near.once('data', (bytes: Buffer) => {
      const message = unframe(bytes);
      assert.ok('body' in message);
      resolve(JSON.parse(message.body));
    });
    near.write(frame(call));
    return promise;
  };
}

test('a copy in another process has what the store has, revision by revision', async () => {
  const store = new ExampleStore();
  const ask = serving(store);
  const copy = new ExampleStore({ empty: true });
  const object = { metadata: { name: 'a', namespace: 'default' } };
  const made = await ask({
    since: copy.revision,
    call: 'create',
    key: configMaps.storage,
    object,
    options: {},
  });
  copy.apply(made.changes);
  // What is known already is passed over.
  copy.apply(made.changes);
  assert.equal(copy.revision, store.revision);
  assert.deepEqual(copy.list(configMaps.storage), store.list(configMaps.storage));
  assert.deepEqual(copy.changesSince(1), store.changesSince(1));
});

test('a copy tells its watches of what happened elsewhere', () => {
  const store = new ExampleStore();
  const copy = new ExampleStore({ empty: true });
  copy.apply(store.changesSince(0));
  const seen: string[] = [];
  copy.subscribe(configMaps.storage, ({ type, object }) => seen.push(`${type} ${object.metadata.name}`));
  const before = copy.revision;
  store.create(configMaps.storage, { metadata: { name: 'a', namespace: 'default' } });
  store.remove(configMaps.storage, 'default', 'a');
  copy.apply(store.changesSince(before));
  assert.deepEqual(seen, ['ADDED a', 'DELETED a']);
});

test('a conflict is a conflict in the other process as well', async () => {
  const store = new ExampleStore();
  const ask = serving(store);
  const object = { metadata: { name: 'a', namespace: 'default' } };
  const call = { since: 1, call: 'create', key: configMaps.storage, object, options: {} } as const;
  await ask(call);
  const { error } = await ask(call);
  assert.equal(error?.code, 'AlreadyExists');
});

test('changes that are compacted away are refused, not left out', () => {
  const store = new ExampleStore({ historyLimit: 2 });
  for (const name of ['a', 'b', 'c']) {
    store.create(configMaps.storage, { metadata: { name, namespace: 'default' } });
  }
  assert.equal(store.changesSince(store.revision - 2).length, 2);
  assert.throws(() => store.changesSince(store.revision - 3), { code: 'Expired' });
});

test('messages are told apart wherever their pieces end', () => {
  const message = frame({ changes: [] });
  assert.ok('missing' in unframe(message.subarray(0, 3)));
  assert.ok('missing' in unframe(message.subarray(0, 7)));
  const both = unframe(Buffer.concat([message, message]));
  assert.ok('body' in both && both.rest.length === message.length);
});

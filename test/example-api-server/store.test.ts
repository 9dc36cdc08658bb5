import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExampleStore, type StoredEvent } from '../../demo/example-api-server/store.ts';

const configMaps = { group: '', resource: 'configmaps' };
const object = (name: string, data = {}) => ({ metadata: { namespace: 'default', name }, data });
const code = (wanted: string) => (error: unknown) => (error as { code?: string }).code === wanted;

describe('the shared store', () => {
  it('numbers every change and writes the number into the object', () => {
    const store = new ExampleStore();
    const before = store.revision;
    const created = store.create(configMaps, object('a'));
    const updated = store.update(configMaps, object('a', { changed: 'yes' }));
    assert.equal(created.metadata.resourceVersion, String(before + 1));
    assert.equal(updated.metadata.resourceVersion, String(before + 2));
    assert.equal(updated.metadata.uid, created.metadata.uid);
    assert.equal(store.revision, before + 2);
  });

  it('makes no revision for an update that changes nothing', () => {
    const store = new ExampleStore();
    store.create(configMaps, object('a'));
    const before = store.revision;
    store.update(configMaps, object('a'));
    assert.equal(store.revision, before);
  });

  it('refuses a second object of the same name, and a change of one that is not there', () => {
    const store = new ExampleStore();
    store.create(configMaps, object('a'));
    assert.throws(() => store.create(configMaps, object('a')), code('AlreadyExists'));
    assert.throws(() => store.update(configMaps, object('b')), code('NotFound'));
    assert.throws(() => store.remove(configMaps, 'default', 'b'), code('NotFound'));
  });

  it('refuses a change that was made from an older state', () => {
    const store = new ExampleStore();
    const first = store.create(configMaps, object('a'));
    store.update(configMaps, object('a', { changed: 'yes' }));
    assert.throws(() => store.update(configMaps, { ...first, data: { mine: 'yes' } }), code('Conflict'));
  });

  it('stores nothing in a dry run', () => {
    const store = new ExampleStore();
    const before = store.revision;
    const created = store.create(configMaps, object('a'), { dryRun: true });
    assert.notEqual(created.metadata.uid, undefined);
    assert.equal(store.get(configMaps, 'default', 'a'), undefined);
    assert.equal(store.revision, before);
  });

  it('replays the changes after a revision, of one resource only', () => {
    const store = new ExampleStore();
    store.create(configMaps, object('a'));
    const since = store.revision;
    store.create({ group: '', resource: 'secrets' }, object('s'));
    store.create(configMaps, object('b'));
    store.remove(configMaps, 'default', 'a');
    const events = store.eventsSince(configMaps, since);
    assert.deepEqual(
      events.map(({ type, object: { metadata } }) => [type, metadata.name]),
      [
        ['ADDED', 'b'],
        ['DELETED', 'a'],
      ],
    );
  });

  it('refuses to replay from before what it still remembers', () => {
    const store = new ExampleStore({ historyLimit: 2 });
    const start = store.revision;
    for (const name of ['a', 'b', 'c']) store.create(configMaps, object(name));
    assert.throws(() => store.eventsSince(configMaps, start), code('Expired'));
    assert.equal(store.eventsSince(configMaps, start + 1).length, 2);
    store.compact();
    assert.throws(() => store.eventsSince(configMaps, start + 1), code('Expired'));
    assert.deepEqual(store.eventsSince(configMaps, store.revision), []);
  });

  it('tells listeners until they leave', () => {
    const store = new ExampleStore();
    const seen: StoredEvent[] = [];
    const leave = store.subscribe(configMaps, (event) => seen.push(event));
    store.create(configMaps, object('a'));
    leave();
    store.create(configMaps, object('b'));
    assert.deepEqual(
      seen.map(({ object: { metadata } }) => metadata.name),
      ['a'],
    );
  });

  it('lists in the order of namespace and name', () => {
    const store = new ExampleStore();
    for (const [namespace, name] of [
      ['z', 'a'],
      ['a', 'z'],
      ['a', 'b'],
    ] as const) {
      store.create(configMaps, { metadata: { namespace, name } });
    }
    const names = store.list(configMaps).map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
    assert.deepEqual(names, ['a/b', 'a/z', 'z/a']);
    assert.equal(store.list(configMaps, 'a').length, 2);
  });
});

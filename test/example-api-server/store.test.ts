import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ExampleStore } from '../../demo/example-api-server/store.ts';

const configMaps = { group: '', resource: 'configmaps' };
const object = (name: string, data = {}) => ({ metadata: { namespace: 'default', name }, data });
const code = (wanted: string) => (error: unknown) => (error as { code?: string }).code === wanted;

describe('the shared store', () => {
  it('makes no revision for an update that changes nothing', () => {
    const store = new ExampleStore();
    store.create(configMaps, object('a'));
    const before = store.revision;
    store.update(configMaps, object('a'));
    assert.equal(store.revision, before);
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

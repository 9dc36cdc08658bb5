import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonValue } from '../../demo/example-api-server/kubernetes-object.ts';
import { applyJsonPatch } from '../../demo/example-api-server/patch/json-patch.ts';
import { applyMergePatch } from '../../demo/example-api-server/patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../../demo/example-api-server/patch/strategic-merge-patch.ts';

const reason = (wanted: string) => (error: unknown) => (error as { reason?: string }).reason === wanted;

describe('a JSON patch (RFC 6902)', () => {
  const cases: readonly (readonly [name: string, from: JsonValue, patch: JsonValue, to: JsonValue])[] = [
    ['adds a field', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
    ['inserts into an array', { l: [1, 3] }, [{ op: 'add', path: '/l/1', value: 2 }], { l: [1, 2, 3] }],
    ['appends to an array', { l: [1] }, [{ op: 'add', path: '/l/-', value: 2 }], { l: [1, 2] }],
    ['removes a field', { a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
    ['removes an item', { l: [1, 2, 3] }, [{ op: 'remove', path: '/l/1' }], { l: [1, 3] }],
    [
      'replaces in the depth',
      { l: [{ a: 1 }] },
      [{ op: 'replace', path: '/l/0/a', value: 2 }],
      { l: [{ a: 2 }] },
    ],
    ['moves', { a: { b: 1 }, c: {} }, [{ op: 'move', from: '/a/b', path: '/c/d' }], { a: {}, c: { d: 1 } }],
    ['copies', { a: 1 }, [{ op: 'copy', from: '/a', path: '/b' }], { a: 1, b: 1 }],
    ['reads ~1 as a slash and ~0 as a tilde', { 'a/b~': 1 }, [{ op: 'remove', path: '/a~1b~0' }], {}],
    ['goes on after a test that holds', { a: [1] }, [{ op: 'test', path: '/a', value: [1] }], { a: [1] }],
  ];
  for (const [name, from, patch, to] of cases) {
    it(name, () => assert.deepEqual(applyJsonPatch(from, patch), to));
  }

  const refusals: readonly (readonly [name: string, patch: JsonValue, reason: string])[] = [
    ['removing what is not there', [{ op: 'remove', path: '/x' }], 'Invalid'],
    ['a test that does not hold', [{ op: 'test', path: '/a', value: 2 }], 'Invalid'],
    ['an index past the end', [{ op: 'add', path: '/l/5', value: 1 }], 'Invalid'],
    ['a leading zero in an index', [{ op: 'replace', path: '/l/00', value: 1 }], 'Invalid'],
    ['an operation that is none', [{ op: 'drop', path: '/a' }], 'BadRequest'],
    ['what is no array', { op: 'remove', path: '/a' }, 'BadRequest'],
  ];
  for (const [name, patch, wanted] of refusals) {
    it(`refuses ${name}`, () => {
      assert.throws(() => applyJsonPatch({ a: 1, l: [1] }, patch), reason(wanted));
    });
  }
});

describe('a merge patch (RFC 7396)', () => {
  // The cases of appendix A that are objects or not.
  const cases: readonly (readonly [JsonValue, JsonValue, JsonValue])[] = [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
    [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
    [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: 'b', c: null }, { a: 'b' }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [from, patch, to] of cases) {
    it(`${JSON.stringify(from)} with ${JSON.stringify(patch)}`, () => {
      assert.deepEqual(applyMergePatch(from, patch), to);
    });
  }
});

describe('a strategic merge patch', () => {
  const pod = {
    spec: {
      containers: [
        { name: 'a', image: 'one', env: [{ name: 'X', value: '1' }] },
        { name: 'b', image: 'two' },
      ],
      tolerations: [{ key: 'x' }],
    },
  };

  it('merges containers by name, and what is in them', () => {
    const patch = { spec: { containers: [{ name: 'a', env: [{ name: 'Y', value: '2' }] }] } };
    const result = applyStrategicMergePatch(pod, patch);
    assert.deepEqual(result, {
      spec: {
        containers: [
          {
            name: 'a',
            image: 'one',
            env: [
              { name: 'X', value: '1' },
              { name: 'Y', value: '2' },
            ],
          },
          { name: 'b', image: 'two' },
        ],
        tolerations: [{ key: 'x' }],
      },
    });
  });

  it('takes an item away with $patch: delete, and puts the others in the order asked for', () => {
    const patch = {
      spec: {
        containers: [
          { name: 'a', $patch: 'delete' },
          { name: 'c', image: 'three' },
        ],
        '$setElementOrder/containers': [{ name: 'c' }, { name: 'b' }],
      },
    };
    const result = applyStrategicMergePatch({ spec: { containers: pod.spec.containers } }, patch);
    assert.deepEqual(result, {
      spec: {
        containers: [
          { name: 'c', image: 'three' },
          { name: 'b', image: 'two' },
        ],
      },
    });
  });

  it('replaces a list that has no merge key', () => {
    const result = applyStrategicMergePatch({ l: [{ key: 'x' }] }, { l: [{ key: 'y' }] });
    assert.deepEqual(result, { l: [{ key: 'y' }] });
  });

  it('unites finalizers and takes single ones out', () => {
    const added = applyStrategicMergePatch({ finalizers: ['a'] }, { finalizers: ['b', 'a'] });
    assert.deepEqual(added, { finalizers: ['a', 'b'] });
    const removed = applyStrategicMergePatch(added, { '$deleteFromPrimitiveList/finalizers': ['a'] });
    assert.deepEqual(removed, { finalizers: ['b'] });
  });

  it('replaces an object with $patch: replace and keeps only $retainKeys', () => {
    const replaced = applyStrategicMergePatch({ s: { a: 1, b: 2 } }, { s: { $patch: 'replace', c: 3 } });
    assert.deepEqual(replaced, { s: { c: 3 } });
    const retained = applyStrategicMergePatch({ s: { a: 1, b: 2 } }, { s: { $retainKeys: ['b'], b: 3 } });
    assert.deepEqual(retained, { s: { b: 3 } });
  });
});

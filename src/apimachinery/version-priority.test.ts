import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { compareVersionPriority } from './version-priority.ts';

test('general availability comes before beta before alpha, and higher numbers first', () => {
  const ordered = [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ];
  assert.deepEqual(ordered.toReversed().sort(compareVersionPriority), ordered);
});

test('a version that only looks like one of Kubernetes comes last, alphabetically', () => {
  const ordered = ['v1alpha1', 'V1', 'v1beta', 'v1gamma1', 'version1'];
  assert.deepEqual(ordered.toReversed().sort(compareVersionPriority), ordered);
});

const versions = fc.oneof(fc.stringMatching(/^v\d{1,3}((alpha|beta)\d{1,2})?$/), fc.string({ maxLength: 4 }));

test('the order is total: any two versions have one, and only equal strings tie', () => {
  fc.assert(
    fc.property(versions, versions, (left, right) => {
      assert.equal(
        Math.sign(compareVersionPriority(left, right)),
        0 - Math.sign(compareVersionPriority(right, left)),
      );
      assert.equal(compareVersionPriority(left, right) === 0, left === right);
    }),
  );
});

test('sorting gives one result, whatever order the versions come in', () => {
  fc.assert(
    fc.property(fc.array(versions), (list) => {
      assert.deepEqual(
        list.toSorted(compareVersionPriority),
        list.toReversed().toSorted(compareVersionPriority),
      );
    }),
  );
});

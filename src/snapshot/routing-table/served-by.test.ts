import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareLeadership } from './served-by.ts';

function leader(servers: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(servers)
    .map(([id, version]) => ({ id, version }))
    .sort(compareLeadership)
    .map(({ id }) => id);
}

test('the newest version leads, by numbers and not by letters', () => {
  assert.deepEqual(leader({ a: 'v1.9.0', b: 'v1.30.2', c: 'v1.30.10', d: 'v2.0.0' }), ['d', 'c', 'b', 'a']);
});

test('a pre-release is older than its release, and pre-releases go by number', () => {
  assert.deepEqual(
    leader({
      a: 'v1.34.0-alpha.2',
      b: 'v1.34.0',
      c: 'v1.34.0-alpha.10',
      d: 'v1.34.0-rc.0',
      e: 'v1.34.0-alpha',
    }),
    ['b', 'd', 'c', 'a', 'e'],
  );
});

test('build metadata does not count, vendors’ suffixes order among themselves', () => {
  assert.deepEqual(leader({ b: 'v1.30.1+k3s2', a: 'v1.30.1+k3s1' }), ['a', 'b']);
  assert.deepEqual(leader({ a: 'v1.30.1-gke.99', b: 'v1.30.1-gke.100' }), ['b', 'a']);
});

test('of equal versions the lower server ID leads; an unknown version never does', () => {
  assert.deepEqual(leader({ b: 'v1.30.1', a: 'v1.30.1', '0': undefined, '1': 'latest' }), [
    'a',
    'b',
    '0',
    '1',
  ]);
});

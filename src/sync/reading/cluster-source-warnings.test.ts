import assert from 'node:assert/strict';
import { test } from 'node:test';
import { unreadWarnings } from './cluster-source.ts';

const kinds = ['identity Leases', 'identity Leases', 'EndpointSlices', 'APIServices'];
const warnings = (failures: readonly (string | undefined)[]) =>
  unreadWarnings(
    kinds.map((kind, index) => ({
      kind,
      reflector: { failure: () => failures[index], run: async () => {}, attempted: Promise.resolve() },
    })),
  );

test('what of a cluster cannot be read is told once for each reason, with each kind once', () => {
  assert.deepEqual(warnings([]), []);
  const refused = 'https://10.0.0.1:6443: connect ECONNREFUSED';
  assert.deepEqual(warnings(kinds.map(() => refused)), [`the cluster cannot be read: ${refused}`]);
  assert.deepEqual(warnings(['403', '403', '500', '403']), [
    'identity Leases, APIServices cannot be read: 403',
    'EndpointSlices cannot be read: 500',
  ]);
});

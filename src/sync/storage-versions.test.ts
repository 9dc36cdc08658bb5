import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { parseStorageVersion, servedByStorageVersions } from './storage-versions.ts';

function object(name: string, storageVersions: readonly object[]) {
  return { metadata: { name }, spec: {}, status: { storageVersions } };
}

test('served versions are filed by server, under the group that serves them', () => {
  const entries = [
    object('core.pods', [{ apiServerID: 'a', encodingVersion: 'v1', servedVersions: ['v1'] }]),
    object('apps.deployments', [
      { apiServerID: 'a', servedVersions: ['apps/v1', 'apps/v1beta2'] },
      { apiServerID: 'b', servedVersions: ['apps/v1'] },
    ]),
    // Stored as core, served by two groups.
    object('core.events', [{ apiServerID: 'a', servedVersions: ['events.k8s.io/v1', 'v1'] }]),
  ].map(parseStorageVersion);
  assert.deepEqual(Object.fromEntries(servedByStorageVersions(entries)), {
    a: {
      'apps.deployments': ['v1', 'v1beta2'],
      'core.events': ['v1'],
      'core.pods': ['v1'],
      'events.k8s.io.events': ['v1'],
    },
    b: { 'apps.deployments': ['v1'] },
  });
});

test('what servers before 1.28 can decode is not what they serve', async () => {
  for (const cluster of ['kubernetes-1.25-1.26', 'kubernetes-1.26-batch-disabled']) {
    const recorded = await readFile(`test/fixtures/${cluster}/storageversions.json`, 'utf8');
    const items: readonly unknown[] = JSON.parse(recorded).items;
    assert.ok(items.length > 40);
    assert.equal(servedByStorageVersions(items.map(parseStorageVersion)).size, 0);
  }
});

test('an object that is no StorageVersion is refused', () => {
  assert.throws(() => parseStorageVersion({ metadata: {} }), { code: 'InvalidDocument' });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';

test('the core exports what others build on', async () => {
  const core = await import('../src/index.ts');
  for (const name of [
    'parseRequestInfo',
    'RequestInfoError',
    'createApp',
    'mixedVersionProxy',
    'decide',
    'openSnapshot',
    'sealSnapshot',
    'buildRoutingTable',
    'mergeDiscovery',
    'stampIdentity',
  ]) {
    assert.equal(typeof core[name as keyof typeof core], 'function', name);
  }
});

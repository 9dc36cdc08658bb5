import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
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

for (const [door, load] of [
  ['.', () => import('../src/index.ts')],
  ['./node', () => import('../src/node/index.ts')],
  ['./worker', () => import('../src/edge/index.ts')],
  ['./sync', () => import('../src/sync/node/index.ts')],
] as const) {
  test(`the page of the library says what each export of ${door} is for`, async () => {
    const page = readFileSync(new URL('../src/README.md', import.meta.url), 'utf8');
    const [, table = ''] = /^## What each export is for\n(.*?)^## /ms.exec(page) ?? [];
    const named = new Set([...table.matchAll(/`([\w.]+)`/g)].map(([, name]) => name));
    assert.deepEqual(
      Object.keys(await load()).filter((name) => !named.has(name)),
      [],
    );
  });
}

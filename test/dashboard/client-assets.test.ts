import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bundleWorker } from '../../scripts/worker/bundle-worker.ts';

test('no part of the page is loaded with the Worker, nor with its handler chain', async () => {
  const isPage = (input: string) => /^src\/dashboard\/(?!page-state\.ts)/.test(input);
  const modules = await bundleWorker();
  const withPage = modules.filter(({ inputs }) => [...inputs.keys()].some(isPage));
  assert.notEqual(withPage.length, 0);
  for (const { name, loadedWithEntry, inputs } of withPage) {
    assert.equal(loadedWithEntry, false, name);
    assert.ok(!inputs.has('src/app.ts'), name);
  }
});

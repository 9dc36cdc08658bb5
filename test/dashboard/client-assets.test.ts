import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { clientAssetsModule, clientAssetsText } from '../../scripts/dashboard/client-assets.ts';
import { bundleWorker } from '../../scripts/worker/bundle-worker.ts';

test("the page's style and script are what src/dashboard/client/ says", async () => {
  const written = await readFile(resolve(import.meta.dirname, '../..', clientAssetsModule), 'utf8');
  assert.equal(written, await clientAssetsText(), `${clientAssetsModule} is stale: npm run build:dashboard`);
});

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

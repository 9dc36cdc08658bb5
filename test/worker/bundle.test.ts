// The Worker as it is uploaded: its modules and their size.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { entryOf, sizeFaults } from '../../scripts/worker/bundle-size.ts';
import { bundleWorker } from '../../scripts/worker/bundle-worker.ts';

test('a start loads no more than its limit: no library but Hono, and nothing that checks, signs, merges, reads clusters or answers for itself', async () => {
  const modules = await bundleWorker();
  assert.deepEqual(sizeFaults(modules), []);
  const inputs = entryOf(modules).flatMap((module) => [...module.inputs.keys()]);
  assert.ok(inputs.includes('src/app.ts'));
  assert.ok(inputs.includes('src/routing/decision.ts'));
  const late =
    /node_modules\/(?!hono\/)|src\/sync\/|src\/own-app|src\/proxy\/(?:middleware|own-paths|explain)|src\/snapshot\/(?:receiver|schema)|merge/;
  assert.deepEqual(
    inputs.filter((input) => late.test(input)),
    [],
  );
});

test('no module of the bundle needs Node', async () => {
  for (const { name, contents, inputs } of await bundleWorker()) {
    const text = Buffer.from(contents).toString();
    assert.doesNotMatch(text, /["']node:|\bprocess\.env|\bBuffer\.from|\brequire\(/, name);
    const packages = [...inputs.keys()].filter((input) => /undici|node-server|client-node/.test(input));
    assert.deepEqual(packages, [], name);
  }
});

// The Worker as it is uploaded: its modules and their size.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadedSoFar } from '../../scripts/worker/bundle-size.ts';
import { bundleWorker } from '../../scripts/worker/bundle-worker.ts';

test('a start and a first request load no more than they need', async () => {
  const modules = await bundleWorker();
  const [start = [], first = []] = [...loadedSoFar(modules).values()].map((loaded) =>
    loaded.flatMap(({ inputs }) => [...inputs.keys()]),
  );
  const libraries = (inputs: readonly string[]): string[] =>
    inputs.filter((input) => input.startsWith('node_modules/'));
  assert.deepEqual(libraries(start), []);
  assert.ok(first.includes('src/app.ts') && first.includes('src/routing/decision.ts'));
  // Nothing that signs, merges, reads clusters, checks tokens, or answers for itself.
  const late =
    /src\/sync\/|src\/own-app|src\/proxy\/(?:middleware|explain|merged)|src\/identity\/(?:jwt\/|assertion\/(?:sign|verify))|signing-key|seal\.ts|jose\/.*sign/;
  assert.deepEqual(
    first.filter((input) => late.test(input)),
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

test('the same sources make the same modules, whichever of their imports is met first', async () => {
  const names = async () => (await bundleWorker()).map(({ name }) => name);
  const first = await names();
  // A name has the hash of its module. One of six came out otherwise while parts were collected during the build.
  for (let build = 0; build < 12; build++) assert.deepEqual(await names(), first);
});

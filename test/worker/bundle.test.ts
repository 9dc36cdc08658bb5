// The Worker as it is uploaded: its modules, their size, and that wrangler takes them as wrangler.toml says.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { entryOf, sizeFaults } from '../../scripts/worker/bundle-size.ts';
import { bundleWorker, entryModule } from '../../scripts/worker/bundle-worker.ts';

const root = join(import.meta.dirname, '..', '..');

test('a start loads no more than its limit: no library, and nothing that checks, signs, merges or reads clusters', async () => {
  const modules = await bundleWorker();
  assert.deepEqual(sizeFaults(modules), []);
  const inputs = entryOf(modules).flatMap((module) => [...module.inputs.keys()]);
  assert.ok(inputs.includes('src/proxy/decision.ts'));
  const late =
    /node_modules\/|src\/sync\/|src\/app|src\/proxy\/(?:middleware|own-paths|explain)|src\/snapshot\/(?:receiver|schema)|merge/;
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

test('wrangler takes the modules as they are, offline and without an account', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'worker-dry-run-'));
  try {
    const wrangler = join(root, 'node_modules', 'wrangler', 'bin', 'wrangler.js');
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [wrangler, 'deploy', '--dry-run', '--outdir', directory],
      { cwd: root, env: { ...process.env, WRANGLER_SEND_METRICS: 'false' }, timeout: 60_000 },
    );
    assert.match(stdout, /SNAPSHOT_OBJECT \(SnapshotObject\)/);
    const uploaded = await readdir(directory);
    assert.ok(uploaded.includes(entryModule), uploaded.join());
    assert.ok(uploaded.length > 10, uploaded.join());
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startRouterProcess } from '../support/router-process.ts';
import { syncCluster } from '../support/sync-cluster.ts';

test('a changed configuration file is noticed by itself, and at once on SIGHUP', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'configuration-'));
  context.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'router.yaml');
  const configure = async (...lines: readonly string[]) => {
    const header = ['apiVersion: mixed-version-proxy/v1alpha1', 'kind: RouterConfiguration'];
    await writeFile(`${file}.new`, [...header, ...lines, ''].join('\n'));
    await rename(`${file}.new`, file);
  };
  await configure('fileCheckInterval: 24h');
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const router = await startRouterProcess(context, cluster, server, { config: [file] });

  await configure('fileCheckInterval: 1s', 'serving: { bindAddress: "::1" }', 'logging: { format: text }');
  router.signal('SIGHUP');
  // The router is started with --bind-address and --logging-format: those flags win over the file.
  await eventually(() => router.log().includes('"msg":"Changed settings are in use"'));
  assert.match(router.log(), /"flag":"--file-check-interval".*"inUse":"24h","configured":"1s"/);

  await configure('fileCheckInterval: soon', 'limits: { goawayChance: 1 }');
  await eventually(() => router.log().includes('"level":"error"'));
  assert.match(router.log(), /router\.yaml:3:20: fileCheckInterval must be a duration/);
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
});

import assert from 'node:assert/strict';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { startRouterProcess } from '../support/router-process.ts';
import { syncCluster } from '../support/sync-cluster.ts';

test('a changed configuration file is told at once on SIGHUP, and the router goes on as it was started', async (context) => {
  const folder = await mkdtemp(join(tmpdir(), 'configuration-'));
  context.after(() => rm(folder, { recursive: true }));
  const file = join(folder, 'router.yaml');
  const configure = async (...lines: readonly string[]) => {
    const header = ['apiVersion: mixed-version-proxy/v1alpha1', 'kind: RouterConfiguration'];
    await writeFile(`${file}.new`, [...header, ...lines, ''].join('\n'));
    await rename(`${file}.new`, file);
  };
  await configure('timeouts: { request: 30s }');
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const router = await startRouterProcess(context, cluster, server, { config: [file] });

  await configure('timeouts: { request: 31s }', 'serving: { bindAddress: "::1" }');
  router.signal('SIGHUP');
  // The router is started with --bind-address: the flag wins over the file.
  await eventually(() => router.log().includes('restart to use it'));
  assert.match(router.log(), /"settings":\[\{"flag":"--request-timeout",[^\]]*"configured":"31s"\}\]/);

  await configure('timeouts: { request: soon }');
  router.signal('SIGHUP');
  await eventually(() => router.log().includes('"level":"error"'));
  assert.match(router.log(), /router\.yaml:3:22: timeouts\.request must be a duration/);
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
});

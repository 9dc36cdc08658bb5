import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { serveFlags } from '../../../demo/routers.ts';
import { syncCluster } from '../../../test/support/clusters/sync-cluster.ts';
import { runCommand } from '../../../test/support/commands/command-context.ts';
import { findingsOf } from '../../../test/support/installation/doctor-installation.ts';
import { silentLogger } from '../../runtime/logger.ts';

test('without a stored snapshot the cluster is read as serve would, and every server of it is asked', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.36', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.26', name: 'cp-b' });
  const kubeconfig = await cluster.kubeconfig(a);
  const { certificates } = cluster;
  const flags = serveFlags({
    apiServer: a,
    certificates,
    snapshotKeys: '',
    snapshotFile: '',
    logger: silentLogger,
  });
  const given = {
    ...flags,
    kubeconfig: [kubeconfig],
    'snapshot-file': [],
    'snapshot-keys': [],
  };
  const args = Object.entries(given).flatMap(([name, values]) => values.map((value) => `--${name}=${value}`));
  const files = new Map<string, string>();
  const paths = Object.values(given)
    .flat()
    .filter((value) => value.startsWith('/'));
  for (const path of paths) files.set(path, readFileSync(path, 'utf8'));
  const examine = async () => {
    const { output, errors } = await runCommand(files, ['doctor', '-o', 'json', ...args]);
    assert.notEqual(output, '', errors);
    return JSON.parse(output);
  };
  const findings = await examine();
  const text = JSON.stringify(findings, null, 2);
  assert.match(findingsOf(findings, 'snapshot'), /^warning: none is kept/, text);
  assert.match(findingsOf(findings, 'cluster'), /^ok: 2 API servers found$/, text);
  for (const { serverId } of [a, b]) {
    assert.match(findingsOf(findings, `server ${serverId}`), /^ok: .* is ready$/, text);
  }
  assert.match(findingsOf(findings, 'credentials of the kubeconfig'), /^ok: CN=.*, until /, text);

  await Promise.all([a.close(), b.close()]);
  assert.match(findingsOf(await examine(), 'cluster'), /^failed: /);
});

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findKubectls, kubectlMissing } from '../support/clients/kubectl.ts';
import { syncCluster } from '../support/clusters/sync-cluster.ts';
import { eventually } from '../support/eventually.ts';
import { startRouterProcess } from '../support/routers/router-process.ts';

const path = '/.mixed-version-proxy/debug/flags/v';
const [kubectl] = findKubectls();

test('an administrator changes the log level of a running router with kubectl', async (context) => {
  assert.ok(kubectl, kubectlMissing);
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const router = await startRouterProcess(context, cluster, server);
  const { admin, clusterCa } = cluster.certificates;
  const run = async (words: readonly string[], input = '') => {
    const running = promisify(execFile)(kubectl.path, [
      `--server=https://127.0.0.1:${router.port}`,
      `--certificate-authority=${clusterCa}`,
      `--client-certificate=${admin.certificate}`,
      `--client-key=${admin.privateKey}`,
      '--kubeconfig=/dev/null',
      ...words,
    ]);
    running.child.stdin?.end(input);
    const { stdout } = await running;
    return stdout;
  };
  // No resource: with no snapshot to come, the first request for one would wait for it.
  const ask = () => run(['get', '--raw', '/version']);
  const lines = (message: string) =>
    router
      .log()
      .split('\n')
      .filter((line) => line.includes(`"msg":"${message}"`)).length;

  await ask();
  await assert.rejects(run(['get', '--raw', '/readyz']));
  assert.equal(lines('A health check failed'), 0);
  assert.equal(lines('HTTP'), 0, 'no line for a request at level 0');
  assert.equal(await run(['get', '--raw', path]), '0\n');

  assert.equal(await run(['replace', '--raw', path, '-f', '-'], '4\n'), 'successfully set -v to 4\n');
  await ask();
  await eventually(() => lines('HTTP') > 0);
  assert.match(router.log(), /"from":0,"to":4,"user":"[^"]+","msg":"Log level changed"/);
  // There is no snapshot: which check fails is a line of level 4.
  await assert.rejects(run(['get', '--raw', '/readyz']));
  assert.equal(lines('A health check failed'), 1);

  await run(['replace', '--raw', path, '-f', '-'], '0');
  const before = lines('HTTP');
  await ask();
  assert.equal(await run(['get', '--raw', path]), '0\n');
  assert.equal(lines('HTTP'), before, 'no line for a request after the level is 0 again');

  for (const wrong of ['', 'four', '-1', '4'.repeat(1_000)]) {
    await assert.rejects(run(['replace', '--raw', path, '-f', '-'], wrong), /not a log level/);
  }
  assert.equal(await run(['get', '--raw', path]), '0\n');
});

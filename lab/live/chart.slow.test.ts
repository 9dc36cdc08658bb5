import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeKubeconfig } from '../../demo/kubeconfig.ts';
import { chartPath, hasHelm, helm } from '../../scripts/helm/render-chart.ts';
import { postObject, tlsRequest } from '../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { startChartPod } from './chart-pod.ts';
import { assetsOfEnvironment } from './cluster/assets.ts';
import { type ControlPlane, startControlPlane } from './cluster/control-plane.ts';
import { endOfLog } from './cluster/logged-process.ts';
import { liveNetwork } from './cluster/network.ts';

const assets = assetsOfEnvironment();
const chart = join(import.meta.dirname, '../..', chartPath);
const missing = hasHelm()
  ? 'no kube-apiserver binaries given (npm run lab -- live tells how)'
  : 'helm is not on PATH (set TEST_ASSET_HELM)';

test('the chart is installed with no object beforehand, and upgraded with the same certificate', {
  skip: (!assets.ok || !hasHelm()) && missing,
}, async (context) => {
  assert.ok(assets.ok);
  const { etcd, apiServers } = assets.assets;
  const controlPlane = await startControlPlane(etcd, [apiServers.at(-1) ?? apiServers[0]]);
  context.after(() => controlPlane.close());
  const { run, server, admin } = await helmOf(controlPlane);
  const secretUrl = `${server.url}/api/v1/namespaces/kube-system/secrets/mixed-version-proxy-gateway-serving`;
  const secret = async (): Promise<Record<string, string>> =>
    (JSON.parse((await tlsRequest(secretUrl, admin)).text) as { data: Record<string, string> }).data;

  assert.match(run(['install', 'mixed-version-proxy', chart]), /Missing: a front-proxy pair/);
  const made = await secret();
  run(['upgrade', 'mixed-version-proxy', chart, '--set', 'gateway.replicas=3']);
  assert.deepEqual(await secret(), made);

  run(['upgrade', 'mixed-version-proxy', chart, '--set', 'gateway.servingNames={api.example}']);
  const renewed = await secret();
  assert.equal(renewed['ca.crt'], made['ca.crt']);
  assert.notEqual(renewed['tls.crt'], made['tls.crt']);

  run(['uninstall', 'mixed-version-proxy']);
  assert.equal((await tlsRequest(secretUrl, admin)).statusCode, 404);
});

test('the container of the chart becomes ready as a process with what the cluster has under the names of its volumes, and passes a request on', {
  skip:
    ((!assets.ok || !hasHelm()) && missing) ||
    (!liveNetwork().isOwn && 'needs API servers at addresses that are not loopback: npm run lab -- live'),
}, async (context) => {
  assert.ok(assets.ok);
  const { etcd, apiServers } = assets.assets;
  const controlPlane = await startControlPlane(etcd, [apiServers.at(-1) ?? apiServers[0]]);
  context.after(() => controlPlane.close());
  const { run, server, admin } = await helmOf(controlPlane);
  // kube-controller-manager makes it in each namespace (pkg/controller/certificates/rootcacertpublisher).
  const rootCa = { metadata: { name: 'kube-root-ca.crt' }, data: { 'ca.crt': admin.ca } };
  const configMaps = `${server.url}/api/v1/namespaces/kube-system/configmaps`;
  const made = await postObject(configMaps, { apiVersion: 'v1', kind: 'ConfigMap', ...rootCa }, admin);
  assert.equal(made.statusCode, 201, made.text);
  // The pod shares its port with the API server, which has it at another address.
  const serving = JSON.stringify({ serving: { bindAddress: '127.0.0.1' } });
  run(['install', 'mixed-version-proxy', chart, '--set-json', `gateway.configuration=${serving}`]);

  const pod = await startChartPod('mixed-version-proxy-gateway', server, admin, controlPlane.path('pod'));
  controlPlane.endWith(() => pod.process.stop(30_000));
  await waitUntil('the readiness probe says 200', async () => (await pod.probe()) === 200, {
    within: 60_000,
  }).catch((cause: unknown) => {
    throw new Error(endOfLog(pod.process), { cause });
  });
  const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';
  assert.equal(await pod.ask(leases, pod.token), 200);
  assert.equal(await pod.ask('/api/v1/namespaces/kube-system/secrets', pod.token), 403);
  assert.equal(await pod.ask(leases, 'not.a.token'), 401);
});

/** How Helm is called for a cluster. */
async function helmOf({ servers: [server], certificates, admin, path }: ControlPlane) {
  assert.ok(server);
  const kubeconfig = await writeKubeconfig(path('kubeconfig'), {
    servers: { cluster: server.url },
    certificateAuthority: certificates.clusterCa,
    users: { admin: certificates.admin },
  });
  const release = ['--kubeconfig', kubeconfig, '--namespace', 'kube-system'];
  const image = ['--set', 'image.repository=registry.example/mixed-version-proxy'];
  const run = (command: readonly string[]) => {
    const values = command[0] === 'uninstall' ? [] : image;
    return execFileSync(helm, [...command, ...release, ...values], { encoding: 'utf8', stdio: 'pipe' });
  };
  return { run, server, admin };
}

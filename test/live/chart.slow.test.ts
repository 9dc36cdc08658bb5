import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { writeKubeconfig } from '../../demo/kubeconfig.ts';
import { chartPath, hasHelm, helm } from '../../scripts/helm/render-chart.ts';
import { startControlPlane } from './control-plane.ts';
import { assetsOfEnvironment } from './find-assets.ts';
import { tlsRequest } from './tls-request.ts';

const assets = assetsOfEnvironment();
const missing = hasHelm()
  ? 'no kube-apiserver binaries given (npm run test:live tells how)'
  : 'helm is not on PATH (set TEST_ASSET_HELM)';

test('the chart is installed with no object beforehand, and upgraded with the same certificate', {
  skip: (!assets.ok || !hasHelm()) && missing,
}, async (context) => {
  assert.ok(assets.ok);
  const { etcd, apiServers } = assets.assets;
  const controlPlane = await startControlPlane(etcd, [apiServers.at(-1) ?? apiServers[0]]);
  context.after(() => controlPlane.close());
  const [server] = controlPlane.servers;
  assert.ok(server);
  const { certificates, admin, path } = controlPlane;
  const kubeconfig = await writeKubeconfig(path('kubeconfig'), {
    servers: { cluster: server.url },
    certificateAuthority: certificates.clusterCa,
    users: { admin: certificates.admin },
  });
  const chart = join(import.meta.dirname, '../..', chartPath);
  const release = ['--kubeconfig', kubeconfig, '--namespace', 'kube-system'];
  const run = (command: readonly string[]) =>
    execFileSync(helm, [...command, ...release], { encoding: 'utf8', stdio: 'pipe' });
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

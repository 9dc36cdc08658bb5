import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { kubectlMissing } from '../support/kubectl.ts';
import { registerCustomResourceCases } from './custom-resource-cases.ts';
import { registerDiscoveryCases } from './discovery-cases.ts';
import { registerDoctorCases } from './doctor-cases.ts';
import { assetsOfEnvironment } from './find-assets.ts';
import { registerIdentityCases } from './identity-cases.ts';
import { type LiveCluster, startLiveCluster } from './live-cluster.ts';
import { createLiveSuite, kubectls, type LiveSuite, namespace } from './live-suite.ts';
import { registerManifestCases } from './manifest-cases.ts';
import { registerPodCases } from './pod-cases.ts';
import { registerUpgradeCases } from './upgrade-cases.ts';

const assets = assetsOfEnvironment();

// Servers are ended as the process exits, which a signal alone would not let it do in order.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

if (!assets.ok) {
  const reason = `no kube-apiserver binaries given (npm run test:live tells how): ${assets.problems.join('; ')}`;
  test('real kube-apiservers of different versions', { skip: !assets.given && reason }, () => {
    // What was named and cannot be used is a fault, not a reason to leave the suite out.
    assert.fail(assets.problems.join('\n'));
  });
} else {
  const versions = assets.assets.apiServers.map(({ version }) => version).join(', ');
  describe(`real kube-apiservers (${versions})`, {
    skip: kubectls.length === 0 && kubectlMissing,
    timeout: 15 * 60_000,
  }, () => {
    let cluster: LiveCluster | undefined;
    let suite: LiveSuite | undefined;
    before(async () => {
      cluster = await startLiveCluster(assets.assets);
      suite = await createLiveSuite(cluster);
      const [kubectl] = kubectls;
      assert.ok(kubectl);
      await suite.ok(kubectl, 'router-a', ['create', 'namespace', namespace]);
    });
    after(() => cluster?.close());
    const started = (): LiveSuite => {
      assert.ok(suite, 'the cluster did not start');
      return suite;
    };

    describe('discovery and OpenAPI', () => registerDiscoveryCases(started));
    describe('identity', () => registerIdentityCases(started));
    describe('doctor', () => registerDoctorCases(started));
    describe('custom resources', () => registerCustomResourceCases(started));
    describe('manifests', () => registerManifestCases(started));
    describe('pods through the router', () => registerPodCases(started));
    // Last: there is no way back.
    describe('the upgrade', () => registerUpgradeCases(started));
  });
}

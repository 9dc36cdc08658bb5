import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { manifestPaths } from '../../scripts/kubernetes-schemas/manifest-kinds.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { readTextFile } from '../../src/cli/terminal/command-context.ts';
import { objectsOf } from '../../test/deploy/support/manifests.ts';
import { kubectlMissing } from '../../test/support/clients/kubectl.ts';
import { commandContext } from '../../test/support/commands/command-context.ts';
import { assetsOfEnvironment } from './cluster/assets.ts';
import { type LiveCluster, startLiveCluster } from './cluster/live-cluster.ts';
import { registerCustomResourceCases } from './custom-resource-cases.ts';
import { registerDiscoveryCases } from './discovery-cases.ts';
import { registerIdentityCases } from './identity-cases.ts';
import { createLiveSuite, type GetSuite, kubectls, type LiveSuite, namespace } from './live-suite.ts';
import { registerPodCases } from './pod-cases.ts';
import { registerUpgradeCases } from './upgrade-cases.ts';

const root = resolve(import.meta.dirname, '../..');
/** A patch for kubeadm is no whole object: no server takes it for one. */
const whole = manifestPaths.filter((path) => !path.endsWith('+strategic.yaml'));

/** The manifests that are shipped, by the decoders and the admission of real servers. Nothing of them is stored. */
function registerManifestCases(suite: GetSuite): void {
  const kubectl = kubectls.at(-1);
  if (kubectl === undefined) return;

  test('every manifest in deploy/ is taken by the oldest and the newest server, read strictly', async () => {
    const { run } = suite();
    // No controller makes it here, and no pod is admitted without it.
    await run(kubectl, 'router-a', ['-n', 'kube-system', 'create', 'serviceaccount', 'default']);
    const files = whole.flatMap((path) => ['-f', join(root, path)]);
    const objects = whole.flatMap((path) => objectsOf(path));
    for (const context of ['router-a', 'router-c'] as const) {
      const dryRun = ['apply', '--dry-run=server', '--validate=strict', ...files];
      // kubectl warns of roles that are there already, for the sync job of this suite has them.
      const { code, stdout, stderr } = await run(kubectl, context, dryRun);
      assert.equal(code, 0, `${context}: ${stderr}`);
      assert.equal(stdout.match(/\(server dry run\)$/gm)?.length, objects.length, context);
    }
  });

  test('and one with a field that does not exist by neither', async () => {
    const deployment = readFileSync(join(root, 'deploy/sync/deployment.yaml'), 'utf8');
    const slip = deployment.replace('readinessProbe:', 'readinesProbe:');
    for (const context of ['router-a', 'router-c'] as const) {
      const dryRun = ['apply', '--dry-run=server', '--validate=strict', '-f', '-'];
      const { code, stderr } = await suite().run(kubectl, context, dryRun, slip);
      assert.equal(code, 1, context);
      assert.match(stderr, /unknown field "spec\.template\.spec\.containers\[0\]\.readinesProbe"/);
    }
  });
}

/** Findings of `doctor`, with the answers of real servers to what it asks them. */
function registerDoctorCases(suite: GetSuite): void {
  const examine = async (more: readonly string[]): Promise<readonly Finding[]> => {
    const { flags } = suite().cluster.sidecars[0];
    const { context, written } = commandContext(new Map());
    await runCommandLine(['doctor', ...flags, '-o', 'json', ...more], { ...context, readFile: readTextFile });
    assert.ok(written.output !== '', written.errors);
    return JSON.parse(written.output);
  };
  const resultsOf = (findings: readonly Finding[], check: RegExp) =>
    findings
      .filter((finding) => check.test(finding.check))
      .map(({ result, message }) => `${result}: ${message}`);

  test('doctor sees that servers of both versions believe the router', async () => {
    const { servers } = suite().cluster;
    const findings = await examine([]);
    const identities = resultsOf(findings, /^identity at /);
    assert.equal(identities.length, servers.length);
    for (const identity of identities) assert.match(identity, /^ok: /);
  });

  test('doctor sees that they do not believe another front proxy', async () => {
    const { certificates, servers } = suite().cluster;
    const { certificate, privateKey } = certificates.otherFrontProxy;
    const findings = await examine([
      `--proxy-client-cert-file=${certificate}`,
      `--proxy-client-key-file=${privateKey}`,
    ]);
    const identities = resultsOf(findings, /^identity at /);
    assert.equal(identities.length, servers.length);
    for (const identity of identities) assert.match(identity, /^failed: .* refuses .*\(401\)/);
  });
}

const assets = assetsOfEnvironment();

// Servers are ended as the process exits, which a signal alone would not let it do in order.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

if (!assets.ok) {
  const reason = `no kube-apiserver binaries given (npm run lab -- live tells how): ${assets.problems.join('; ')}`;
  test('real kube-apiservers of different versions', { skip: !assets.given && reason }, () => {
    // A named asset that cannot be used is a fault, not a reason to leave the suite out.
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

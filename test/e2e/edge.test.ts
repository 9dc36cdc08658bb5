import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  findKubectls,
  type Kubectl,
  type KubectlResult,
  kubectlMissing,
  runKubectl,
  watchWithKubectl,
} from '../support/clients/kubectl.ts';
import { type EdgeDemoUnderTest, startEdgeDemo } from '../support/clusters/running-demo.ts';

const kubectls = findKubectls();
const missing = ['1.27', '1.33']
  .filter((version) => !kubectls.some((kubectl) => kubectl.version === version))
  .map((version) => `kubectl ${version} is not installed beside the one on PATH`);

// How the demo ends: edge.slow.test.ts.
describe('kubectl through workerd, in front of the mixed cluster', {
  skip: kubectls.length === 0 && kubectlMissing,
}, () => {
  let running: EdgeDemoUnderTest;
  before(async () => {
    running = await startEdgeDemo();
  });
  after(() => running.stop());

  const flags = (context: string) => ['--kubeconfig', running.demo.kubeconfig, '--context', context];
  const run = (kubectl: Kubectl, args: readonly string[], context = 'edge', input?: string) =>
    runKubectl(kubectl, running.home, [...flags(context), ...args], input);
  const create = (kubectl: Kubectl, object: unknown) =>
    run(kubectl, ['create', '-f', '-'], 'edge', JSON.stringify(object));

  for (const why of missing) test('every version that is meant to be tried', { skip: why }, () => {});

  for (const kubectl of kubectls) {
    const named = (prefix: string) => `${prefix}-${kubectl.version}`.replaceAll('.', '-');
    const pod = named('pod');

    test(`kubectl ${kubectl.version}: auth whoami shows the token's user, told by a signed assertion`, async () => {
      const admin = JSON.parse(ok(await run(kubectl, ['auth', 'whoami', '-o', 'json'])));
      assert.equal(admin.status.userInfo.username, 'kubernetes-admin');
      const alice = JSON.parse(ok(await run(kubectl, ['auth', 'whoami', '-o', 'json'], 'alice@edge')));
      assert.equal(alice.status.userInfo.username, 'alice');
      assert.deepEqual(alice.status.userInfo.groups, ['dev', 'qa', 'system:authenticated']);
    });

    for (const resource of [
      'horizontalpodautoscalers.v2beta2.autoscaling',
      'flowschemas.v1beta3.flowcontrol.apiserver.k8s.io',
      'validatingadmissionpolicies.v1.admissionregistration.k8s.io',
    ]) {
      test(`kubectl ${kubectl.version}: get ${resource}, which only one of the servers serves`, async () => {
        ok(await run(kubectl, ['get', resource]));
      });
    }

    test(`kubectl ${kubectl.version}: create, get and api-resources`, async () => {
      const name = named('map');
      ok(
        await create(kubectl, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { a: 'b' } }),
      );
      const got = JSON.parse(ok(await run(kubectl, ['get', 'configmap', name, '-o', 'json'])));
      assert.deepEqual(got.data, { a: 'b' });
      assert.match(ok(await run(kubectl, ['api-resources'])), /validatingadmissionpolicies/);
    });

    test(`kubectl ${kubectl.version}: get --watch receives an event of something made later`, async () => {
      const name = named('watched');
      const watch = watchWithKubectl(kubectl, running.home, [...flags('edge'), 'configmaps']);
      const manifest = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${name}-before` } };
      ok(await create(kubectl, manifest));
      await watch.saw(new RegExp(`"${name}-before"`));
      ok(await create(kubectl, { ...manifest, metadata: { name: `${name}-after` } }));
      await watch.saw(new RegExp(`"ADDED"[\\s\\S]*"${name}-after"`)).finally(() => watch.stop());
    });

    test(`kubectl ${kubectl.version}: exec, by WebSocket, or an explanation of what it takes`, async () => {
      const spec = { containers: [{ name: 'c', image: 'i' }] };
      ok(await create(kubectl, { apiVersion: 'v1', kind: 'Pod', metadata: { name: pod }, spec }));
      const result = await run(kubectl, ['exec', pod, '--', 'id', '-u'], 'alice@edge');
      if (usesWebSocket(kubectl)) {
        assert.match(ok(result), /alice[\s\S]*"id" "-u"/);
      } else {
        assert.notEqual(result.code, 0);
        assert.match(result.stderr, /BadRequest.*WebSocket.*kubectl 1\.30 or newer/);
      }
    });
  }

  test('a token that nobody issued is nobody, though the certificate may connect', async () => {
    const [kubectl] = kubectls;
    assert.ok(kubectl);
    const { code, stderr } = await run(kubectl, ['get', 'pods', '--token=forged']);
    assert.equal(code, 1);
    assert.match(stderr, /logged in|Unauthorized|credentials/);
  });
});

function usesWebSocket({ version }: Kubectl): boolean {
  return Number(version.split('.')[1]) >= 30;
}

/** The output of a command that must work. */
function ok({ code, stdout, stderr }: KubectlResult): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

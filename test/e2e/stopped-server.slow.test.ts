import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { findKubectls, type Kubectl, kubectlMissing, runKubectl } from '../support/kubectl.ts';
import { type DemoUnderTest, startDemo } from '../support/running-demo.ts';

interface Status {
  readonly servers: readonly { readonly id: string; readonly stale: boolean }[];
  readonly documents: readonly { readonly path: string; readonly server: string; readonly problem: string }[];
}

const kubectls = findKubectls();
const [oldest] = kubectls;
const left = ['v1.25', 'v1.26'];

describe('one of three servers has stopped', { skip: kubectls.length === 0 && kubectlMissing }, () => {
  let running: DemoUnderTest;
  let stopped = '';
  before(async () => {
    running = await startDemo();
    const newest = running.demo.apiServers.find(({ version }) => version === '1.36');
    assert.ok(newest);
    stopped = newest.serverId;
    // One that goes before its schemas are compared would have to be taken for different for as long as it is away.
    for (const context of left) await untilCompared(context);
    await newest.close();
    for (const context of left) await untilStale(context);
  });
  after(() => running.stop());

  const run = (kubectl: Kubectl, context: string, ...args: string[]) =>
    runKubectl(kubectl, running.home, [
      '--kubeconfig',
      running.demo.kubeconfig,
      '--context',
      context,
      ...args,
    ]);

  async function status(context: string): Promise<Status> {
    assert.ok(oldest);
    const answer = await run(oldest, context, 'get', '--raw', '/.mixed-version-proxy/v1/status');
    assert.equal(answer.code, 0, answer.stderr);
    return JSON.parse(answer.stdout);
  }

  async function untilCompared(context: string): Promise<void> {
    assert.ok(oldest);
    for (let attempt = 0; attempt < 100; attempt++) {
      const { stdout } = await run(oldest, context, 'get', '--raw', '/.mixed-version-proxy/v1/snapshot');
      const sets = Object.values((JSON.parse(stdout) as { servedSets: Record<string, object> }).servedSets);
      if (sets.length === 3 && sets.every((set) => 'schemas' in set)) return;
    }
    assert.fail(`${context} never heard of the schemas`);
  }

  async function untilStale(context: string): Promise<void> {
    for (let attempt = 0; attempt < 100; attempt++) {
      const { servers } = await status(context);
      if (servers.some(({ id, stale }) => id === stopped && stale)) return;
    }
    assert.fail(`${context} never heard of it`);
  }

  test('the status names it, and what is shown of it', async () => {
    for (const context of left) {
      const { documents } = await status(context);
      const shown = documents.find(({ path, server }) => path === '/apis' && server === stopped);
      assert.match(shown?.problem ?? '', /last known/);
    }
  });

  for (const kubectl of kubectls) {
    test(`${kubectl.version}: the others' routers list what can be served, without an error`, async () => {
      for (const command of ['api-versions', 'api-resources']) {
        const [first, second] = await Promise.all(left.map((context) => run(kubectl, context, command)));
        assert.deepEqual([first?.code, first?.stderr], [0, ''], command);
        assert.deepEqual(second, first, command);
        assert.match(first?.stdout ?? '', /autoscaling\/v2\b/, command);
        // Only the stopped server has it: in the documents it stays, marked Stale, and kubectl passes it over.
        assert.doesNotMatch(first?.stdout ?? '', /resource\.k8s\.io/, command);
      }
      const apis = await run(kubectl, 'v1.25', 'get', '--raw', '/apis');
      assert.match(apis.stdout, /"groupVersion":"resource\.k8s\.io\/v1"/);
    });

    test(`${kubectl.version}: what the others serve works`, async () => {
      for (const context of left) {
        for (const args of [
          ['get', 'deployments,hpa'],
          ['explain', 'pods.spec'],
        ]) {
          const { code, stderr } = await run(kubectl, context, ...args);
          assert.deepEqual(
            [code, stderr.replace(/^No resources found.*$/m, '').trim()],
            [0, ''],
            args.join(' '),
          );
        }
        // Pods have a field that only the stopped server knows.
        const { code, stderr } = await run(kubectl, context, 'get', 'pods');
        assert.equal(code, 0);
        assert.match(stderr, /^Warning: .* an API server of version 1\.26 responded/);
      }
    });

    test(`${kubectl.version}: what only it served is refused for now, not denied`, async () => {
      const got = await run(kubectl, 'v1.25', 'get', 'validatingadmissionpolicies', '--request-timeout=2s');
      assert.equal(got.code, 1);
      assert.match(
        got.stderr,
        /currently unable to handle the request|could not be reached|Timeout|deadline/,
      );
      assert.doesNotMatch(got.stderr, /NotFound|doesn't have a resource type/);
    });
  }
});

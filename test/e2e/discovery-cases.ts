import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { type Kubectl, runInContext } from '../support/kubectl.ts';
import type { DemoUnderTest } from '../support/running-demo.ts';
import { sharedDemo } from './shared-demo.ts';

const contexts = ['v1.25', 'v1.26', 'v1.36'];
/** One resource that only one of the three servers has, each. */
const exclusive = [
  {
    servedBy: '1.25',
    resource: 'horizontalpodautoscalers',
    apiVersion: 'autoscaling/v2beta2',
    kind: 'HorizontalPodAutoscaler',
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
  },
  {
    servedBy: '1.26',
    resource: 'flowschemas',
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1beta3',
    kind: 'FlowSchema',
    spec: { matchingPrecedence: 900, priorityLevelConfiguration: { name: 'global-default' } },
  },
  {
    servedBy: '1.36',
    resource: 'validatingadmissionpolicies',
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    spec: { failurePolicy: 'Fail', validations: [{ expression: 'true' }] },
  },
] as const;
/** What each of these kubectls finds out through the routers of the demo. */
export function discoveryCases(kubectls: readonly Kubectl[]): void {
  let running: DemoUnderTest;
  before(async () => {
    running = await sharedDemo();
  });

  const run = (kubectl: Kubectl, context: string, args: readonly string[], input?: string) =>
    runInContext(kubectl, { home: running.home, kubeconfig: running.demo.kubeconfig }, context, args, input);

  /** The output of a command that must be the same from every router, and have nothing to complain of. */
  async function sameEverywhere(kubectl: Kubectl, args: readonly string[]): Promise<string> {
    const [first = '', ...others] = contexts;
    const expected = await run(kubectl, first, args);
    assert.deepEqual(expected, { code: 0, stdout: expected.stdout, stderr: '' }, first);
    for (const context of others) assert.deepEqual(await run(kubectl, context, args), expected, context);
    return expected.stdout;
  }

  for (const kubectl of kubectls) {
    test(`${kubectl.version} api-resources and api-versions: the same from every router`, async () => {
      const resources = await sameEverywhere(kubectl, ['api-resources']);
      const versions = await sameEverywhere(kubectl, ['api-versions']);
      await sameEverywhere(kubectl, ['api-resources', '-o', 'wide']);
      for (const { resource, apiVersion } of exclusive) {
        assert.ok(resources.includes(resource), resource);
        assert.ok(versions.split('\n').includes(apiVersion), apiVersion);
      }
    });

    for (const { servedBy, resource, apiVersion, kind } of exclusive) {
      test(`${kubectl.version} explain ${apiVersion} ${resource}, of ${servedBy}: the same from every router`, async () => {
        const text = await sameEverywhere(kubectl, ['explain', resource, '--api-version', apiVersion]);
        assert.match(text, new RegExp(kind));
        assert.match(text, /What is wanted of the/);
      });
    }

    test(`${kubectl.version} explain from OpenAPI v2, of the newest server: the same from every router`, async () => {
      const { resource, apiVersion, kind } = exclusive[2];
      const text = await sameEverywhere(kubectl, [
        'explain',
        resource,
        '--api-version',
        apiVersion,
        '--output',
        'plaintext-openapiv2',
      ]);
      assert.match(text, new RegExp(`${kind} of ${apiVersion}`));
    });

    test(`${kubectl.version} get all: the same from every router`, async () => {
      const name = `get-all-${kubectl.version}`.replaceAll('.', '-');
      const configuration = JSON.stringify({
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name },
        spec: { ports: [{ port: 80 }] },
      });
      assert.equal((await run(kubectl, 'v1.26', ['create', '-f', '-'], configuration)).stderr, '');
      const listed = await sameEverywhere(kubectl, ['get', 'all', '-o', 'name']);
      assert.ok(listed.split('\n').includes(`service/${name}`), listed);
    });

    for (const { servedBy, apiVersion, kind, spec } of exclusive) {
      for (const context of contexts) {
        test(`${kubectl.version} apply --validate of ${apiVersion}, of ${servedBy}, through ${context}`, async () => {
          const metadata = { name: `validated-${kubectl.version}-${context}`.replaceAll('.', '-') };
          const manifest = { apiVersion, kind, metadata, spec };
          for (const level of ['strict', 'warn']) {
            const applied = await run(
              kubectl,
              context,
              ['apply', `--validate=${level}`, '-f', '-'],
              JSON.stringify(manifest),
            );
            assert.deepEqual([applied.code, applied.stderr], [0, ''], level);
          }
          const unknown = JSON.stringify({ ...manifest, specification: {} });
          const refused = await run(kubectl, context, ['apply', '--validate=strict', '-f', '-'], unknown);
          assert.equal(refused.code, 1);
          assert.match(refused.stderr, /unknown field "specification"/);
          const warned = await run(kubectl, context, ['apply', '--validate=warn', '-f', '-'], unknown);
          assert.match(warned.stderr, /Warning: unknown field "specification"/);
          assert.equal(warned.code, 0);
        });
      }
    }
  }
}

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type Kubectl,
  type KubectlResult,
  overHttp1,
  runInContext,
  watchWithKubectl,
} from '../support/clients/kubectl.ts';
import { type DemoUnderTest, startDemo } from '../support/clusters/running-demo.ts';

/** Resources that only one of the three servers serves, each with a way to change it. */
const exclusive = [
  {
    servedBy: '1.25',
    resource: 'horizontalpodautoscalers.v2beta2.autoscaling',
    apiVersion: 'autoscaling/v2beta2',
    kind: 'HorizontalPodAutoscaler',
    spec: { maxReplicas: 3, scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' } },
    patch: { spec: { maxReplicas: 5 } },
  },
  {
    servedBy: '1.26',
    resource: 'flowschemas.v1beta3.flowcontrol.apiserver.k8s.io',
    apiVersion: 'flowcontrol.apiserver.k8s.io/v1beta3',
    kind: 'FlowSchema',
    spec: { matchingPrecedence: 900, priorityLevelConfiguration: { name: 'global-default' } },
    patch: { spec: { matchingPrecedence: 901 } },
  },
  {
    servedBy: '1.36',
    resource: 'validatingadmissionpolicies.v1.admissionregistration.k8s.io',
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingAdmissionPolicy',
    spec: { failurePolicy: 'Fail', validations: [{ expression: 'true' }] },
    patch: { spec: { failurePolicy: 'Ignore' } },
  },
] as const;

const contexts = ['v1.25', 'v1.26', 'v1.36'];
/** One kubectl, one protocol of its two, and the router that it talks to. */
export interface Way {
  readonly kubectl: Kubectl;
  readonly protocol: 'HTTP/2' | 'HTTP/1.1';
  readonly context: string;
}

/** Every kubectl over HTTP/2 through every router of the demo, and one of them over HTTP/1.1. */
export function waysOf(kubectls: readonly Kubectl[]): Way[] {
  const spoken = [
    ...kubectls.map((kubectl) => ({ kubectl, protocol: 'HTTP/2' as const })),
    // The output of both protocols is the same, so that one kubectl is enough.
    ...kubectls.slice(-1).map((kubectl) => ({ kubectl: overHttp1(kubectl), protocol: 'HTTP/1.1' as const })),
  ];
  return spoken.flatMap((each) => contexts.map((context) => ({ ...each, context })));
}

/** Cases with each kubectl: those that work on each of the ways, exec, and those that fail without the routers. */
export function kubectlCases(ways: readonly Way[], kubectls: readonly Kubectl[]): void {
  let running: DemoUnderTest;
  before(async () => {
    running = await startDemo();
  });
  after(() => running.stop());

  const run = (kubectl: Kubectl, context: string, args: readonly string[], input?: string) =>
    runInContext(kubectl, { home: running.home, kubeconfig: running.demo.kubeconfig }, context, args, input);
  const direct = (kubectl: Kubectl, context: string, args: readonly string[], input?: string) =>
    runInContext(
      kubectl,
      { home: running.home, kubeconfig: running.demo.directKubeconfig },
      context,
      args,
      input,
    );

  for (const { kubectl, protocol, context } of ways) {
    const where = `kubectl ${kubectl.version} over ${protocol}, router ${context}`;

    test(`${where}: that is what it speaks`, async () => {
      const { stderr } = await run(kubectl, context, ['get', 'pods', '-v=8']);
      assert.equal(/Keep-Alive: timeout=/i.test(stderr), protocol === 'HTTP/1.1', stderr);
    });

    test(`${where}: api-versions and api-resources list the whole cluster without an error`, async () => {
      const versions = ok(await run(kubectl, context, ['api-versions']));
      for (const { apiVersion } of exclusive)
        assert.ok(versions.split('\n').includes(apiVersion), apiVersion);
      ok(await run(kubectl, context, ['api-resources']));
    });

    test(`${where}: auth whoami shows who arrived, whichever server answers`, async () => {
      const admin = JSON.parse(ok(await run(kubectl, context, ['auth', 'whoami', '-o', 'json'])));
      assert.equal(admin.status.userInfo.username, 'kubernetes-admin');
      const alice = JSON.parse(ok(await run(kubectl, `alice@${context}`, ['auth', 'whoami', '-o', 'json'])));
      assert.equal(alice.status.userInfo.username, 'alice');
      assert.deepEqual(alice.status.userInfo.groups, ['dev', 'qa', 'system:authenticated']);
    });

    for (const { servedBy, resource, apiVersion, kind, spec, patch } of exclusive) {
      test(`${where}: ${resource}, which only ${servedBy} serves`, async () => {
        const name = `e2e-${kubectl.version}-${protocol}-${context}`.toLowerCase().replaceAll(/[./]/g, '-');
        const manifest = JSON.stringify({ apiVersion, kind, metadata: { name }, spec });
        const named = [resource, name];

        ok(await run(kubectl, context, ['create', '-f', '-'], manifest));
        const way = ['--kubeconfig', running.demo.kubeconfig, '--context', context];
        const watch = watchWithKubectl(kubectl, running.home, [...way, ...named]);
        await watch.saw('ADDED');
        ok(await run(kubectl, context, ['apply', '-f', '-'], manifest));
        ok(await run(kubectl, context, ['apply', '--server-side', '--force-conflicts', '-f', '-'], manifest));
        ok(await run(kubectl, context, ['patch', ...named, '--type=merge', '-p', JSON.stringify(patch)]));
        const got = JSON.parse(ok(await run(kubectl, context, ['get', ...named, '-o', 'json'])));
        assert.equal(got.apiVersion, apiVersion);
        assert.deepEqual({ ...got.spec, ...patch.spec }, got.spec);
        const status = ok(
          await run(kubectl, context, ['get', ...named, '--subresource=status', '-o', 'name']),
        );
        assert.match(status, new RegExp(name));
        ok(await run(kubectl, context, ['delete', ...named]));
        await watch.saw('DELETED').finally(() => watch.stop());

        const gone = await run(kubectl, context, ['get', ...named]);
        assert.equal(gone.code, 1);
        assert.match(gone.stderr, /NotFound/);
      });
    }
  }

  for (const kubectl of kubectls) {
    test(`kubectl ${kubectl.version}: exec reaches the server that serves the pod, as the caller`, {
      // kubectl before 1.30 speaks SPDY here, which the example server does not; tunnels of both kinds are
      // tested in src/node/upgrades/upgrade.test.ts.
      skip: olderThan(kubectl.version, 30) && 'kubectl before 1.30 uses SPDY for exec',
    }, async () => {
      const name = `exec-${kubectl.version}`.replaceAll('.', '-');
      const pod = {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name },
        spec: { containers: [{ name: 'c', image: 'i' }] },
      };
      ok(await run(kubectl, 'v1.25', ['create', '-f', '-'], JSON.stringify(pod)));
      for (const context of contexts) {
        const output = ok(await run(kubectl, `alice@${context}`, ['exec', name, '--', 'id', '-u']));
        assert.match(output, /alice/);
        assert.match(output, /"id" "-u"/);
      }
      ok(await run(kubectl, 'v1.25', ['delete', 'pod', name]));
    });

    test(`kubectl ${kubectl.version}: without the routers the same commands fail`, async () => {
      for (const { servedBy, resource } of exclusive) {
        for (const context of contexts.filter((name) => name !== `v${servedBy}`)) {
          const result = await direct(kubectl, context, ['get', resource]);
          assert.equal(result.code, 1, `${resource} directly on ${context}`);
          assert.match(
            result.stderr,
            /the server doesn't have a resource type|could not find the requested resource/,
          );
        }
      }
      const resources = await direct(kubectl, 'v1.25', ['api-resources']);
      assert.notEqual(resources.code, 0, 'the classic /apis of 1.25 lists what it then answers with 404');
    });
  }
}

/** The output of a command that must work and have nothing to complain of. */
function ok({ code, stdout, stderr }: KubectlResult): string {
  assert.equal(code, 0, stderr);
  // client-go's own notices, about throttling and about its environment, are no errors.
  const notice = /Waited for .* due to|HTTP2 has been explicitly disabled/;
  const complaints = stderr.split('\n').filter((line) => line !== '' && !notice.test(line));
  assert.deepEqual(
    complaints.filter((line) => !line.startsWith('Warning: resource')),
    [],
  );
  return stdout;
}

function olderThan(version: string, minor: number): boolean {
  return Number(version.split('.')[1]) < minor;
}

import assert from 'node:assert/strict';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { newerManifestPaths } from '../../scripts/kubernetes-schemas/manifest-kinds.ts';
import { tlsRequest } from '../../test/support/clients/tls-request.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { type GetSuite, kubectls, type LiveSuite } from './live-suite.ts';

const [manifest] = newerManifestPaths;
const file = join(resolve(import.meta.dirname, '../..'), manifest);
const namespace = 'live-pods';
const served = '/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
/** As the manifest has it. */
const set = [
  { name: 'KUBERNETES_SERVICE_HOST', value: 'api.example.com' },
  { name: 'KUBERNETES_SERVICE_PORT', value: '6443' },
];

interface Container {
  readonly name: string;
  readonly image?: string;
  readonly env?: readonly object[];
}

const newestKubectl = kubectls.at(-1);
const direct = 'direct-c';

/** Creates a pod and removes it; what the server has made of it. */
async function created(
  { run }: LiveSuite,
  spec: {
    readonly containers: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly nodeName?: string;
  },
  metadata: object = {},
  where = namespace,
): Promise<Record<string, Container['env']>> {
  const withImages = (containers: readonly Container[] = []) =>
    containers.map((container) => ({ image: 'example', ...container }));
  const pod = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { generateName: 'asked-', namespace: where, ...metadata },
    spec: {
      ...spec,
      containers: withImages(spec.containers),
      initContainers: withImages(spec.initContainers),
    },
  };
  // With warnings: the server has one for a name that is there twice.
  const { code, stdout, stderr } = await run(
    newestKubectl ?? assert.fail(),
    direct,
    ['create', '-o', 'json', '-f', '-'],
    JSON.stringify(pod),
  );
  assert.equal(code, 0, stderr);
  const { metadata: stored, spec: made } = JSON.parse(stdout);
  // The kubelet would have to say that a pod on a node has ended.
  const now = spec.nodeName === undefined ? [] : ['--force'];
  await run(newestKubectl ?? assert.fail(), direct, ['-n', where, 'delete', 'pod', stored.name, ...now]);
  return Object.fromEntries(
    [...made.containers, ...(made.initContainers ?? [])].map(({ name, env }: Container) => [name, env]),
  );
}

/** deploy/kubernetes/pods-through-router.yaml, by the admission of the newest server. */
export function registerPodCases(suite: GetSuite): void {
  const kubectl = newestKubectl;
  if (kubectl === undefined) return;

  test('pods get the routers’ address, those that set it keep theirs', async (context) => {
    const { cluster, run, ok } = suite();
    const [, , newest] = cluster.servers;
    if ((await tlsRequest(`${newest.url}${served}`, cluster.admin)).statusCode === 404) {
      context.skip(
        `${cluster.newest.version} does not serve MutatingAdmissionPolicies of v1: give 1.36 or newer`,
      );
      return;
    }
    await ok(kubectl, direct, ['create', 'namespace', namespace]);
    // No controller makes it here, and no pod is admitted without it.
    for (const where of [namespace, 'kube-system']) {
      await run(kubectl, direct, ['-n', where, 'create', 'serviceaccount', 'default']);
    }
    await ok(kubectl, direct, ['apply', '--validate=strict', '-f', file]);
    context.after(() => ok(kubectl, direct, ['delete', '-f', file]));
    await waitUntil('the policy is in force', async () => {
      const { main } = await created(suite(), { containers: [{ name: 'main' }] });
      return main !== undefined;
    });

    const own = { name: 'KUBERNETES_SERVICE_HOST', value: '192.0.2.7' };
    const other = { name: 'COLOUR', value: 'blue' };
    assert.deepEqual(
      await created(suite(), {
        containers: [{ name: 'bare' }, { name: 'own', env: [own] }, { name: 'other', env: [other] }],
        initContainers: [{ name: 'first' }, { name: 'second', env: [own, other] }],
      }),
      { bare: set, own: [own], other: [other, ...set], first: set, second: [own, other] },
    );
    // Twice the same name is allowed in a pod, and survives the merge.
    const twice = [other, other];
    assert.deepEqual(await created(suite(), { containers: [{ name: 'twice', env: twice }] }), {
      twice: [...twice, ...set],
    });
    const router = { labels: { 'app.kubernetes.io/part-of': 'mixed-version-proxy' } };
    assert.deepEqual(await created(suite(), { containers: [{ name: 'main' }] }, router), { main: undefined });
    const mirror = { annotations: { 'kubernetes.io/config.mirror': 'of a static pod' } };
    assert.deepEqual(await created(suite(), { containers: [{ name: 'main' }], nodeName: 'node' }, mirror), {
      main: undefined,
    });
    assert.deepEqual(await created(suite(), { containers: [{ name: 'main' }] }, {}, 'kube-system'), {
      main: undefined,
    });
  });
}

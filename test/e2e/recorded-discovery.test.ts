import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { findKubectls, kubectlMissing, runKubectl } from '../support/kubectl.ts';
import { type RecordedRouters, startRecordedRouters } from '../support/recorded-routers.ts';

const kubectls = findKubectls();
/** What only one of the two servers has. */
const clusters = [
  {
    name: 'kubernetes-1.25-1.26',
    mixed: [
      'autoscaling/v2beta2',
      'flowcontrol.apiserver.k8s.io/v1beta1',
      'flowcontrol.apiserver.k8s.io/v1beta3',
    ],
    refused: /flowcontrol\.apiserver\.k8s\.io\/v1beta3/,
  },
  { name: 'kubernetes-1.26-batch-disabled', mixed: ['batch/v1'], refused: undefined },
] as const;

for (const { name, mixed, refused } of clusters) {
  describe(`kubectl over ${name} as it was recorded`, {
    skip: kubectls.length === 0 && kubectlMissing,
  }, () => {
    let running: RecordedRouters;
    before(async () => {
      running = await startRecordedRouters(name);
    });
    after(() => running.stop());

    for (const kubectl of kubectls) {
      const run = (kubeconfig: string, context: string, command: string) =>
        runKubectl(kubectl, running.home, [
          '--kubeconfig',
          kubeconfig,
          '--context',
          context,
          ...command.split(' '),
        ]);

      for (const command of ['api-versions', 'api-resources', 'api-resources -o wide']) {
        test(`${kubectl.version} ${command}: the same from both routers, and no complaint`, async () => {
          const fromA = await run(running.kubeconfig, 'a', command);
          const fromB = await run(running.kubeconfig, 'b', command);
          assert.deepEqual(fromA, { code: 0, stdout: fromA.stdout, stderr: '' });
          assert.deepEqual(fromB, fromA);
          if (command !== 'api-versions') return;
          for (const version of mixed) assert.ok(fromA.stdout.split('\n').includes(version), version);
        });
      }

      test(`${kubectl.version} without the routers: server a alone`, async () => {
        const resources = await run(running.directKubeconfig, 'a', 'api-resources');
        if (refused === undefined) assert.doesNotMatch(resources.stdout, /batch\/v1 /);
        else {
          assert.equal(resources.code, 1);
          assert.match(resources.stderr, refused);
        }
      });
    }
  });
}

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { before, describe, test } from 'node:test';
import { manifestPaths } from '../../scripts/kubernetes-schemas/manifest-kinds.ts';
import { objectsOf } from '../deploy/support/manifests.ts';
import { findKubectls, type KubectlResult, kubectlMissing, runKubectl } from '../support/kubectl.ts';
import type { DemoUnderTest } from '../support/running-demo.ts';
import { sharedDemo } from './shared-demo.ts';

const root = resolve(import.meta.dirname, '../..');
const kubectl = findKubectls().at(-1);
/** A patch for kubeadm is no whole object: no server takes it for one. */
const whole = manifestPaths.filter((path) => !path.endsWith('+strategic.yaml'));

describe('the manifests and kubectl', { skip: kubectl === undefined && kubectlMissing }, () => {
  let running: DemoUnderTest;
  before(async () => {
    running = await sharedDemo();
  });

  const apply = (args: readonly string[], input?: string): Promise<KubectlResult> => {
    assert.ok(kubectl);
    const kubeconfig = join(running.home, '.demo', 'kubeconfig');
    return runKubectl(
      kubectl,
      running.home,
      ['--kubeconfig', kubeconfig, '--context=v1.25', 'apply', '--validate=strict', ...args],
      input,
    );
  };

  for (const where of ['client', 'server'] as const) {
    test(`kubectl apply --dry-run=${where} takes every one of them, through the router of the oldest server`, async () => {
      const files = whole.flatMap((path) => ['-f', join(root, path)]);
      const { code, stdout, stderr } = await apply([`--dry-run=${where}`, ...files]);
      assert.equal(code, 0, stderr);
      const objects = whole.flatMap((path) => objectsOf(path));
      const taken = stdout.split('\n').filter((line) => line.endsWith('dry run)'));
      assert.equal(taken.length, objects.length, stdout);
    });
  }

  test('it refuses one with a field that does not exist, and a kind that no server has', async () => {
    const deployment = readFileSync(join(root, 'deploy/sync/deployment.yaml'), 'utf8');
    const slip = deployment.replace(/^spec:$/m, 'specs:');
    assert.notEqual(slip, deployment);
    const field = await apply(['--dry-run=server', '-f', '-'], slip);
    assert.equal(field.code, 1, field.stdout);
    assert.match(field.stderr, /unknown field "specs"/);
    const kind = await apply(['--dry-run=client', '-f', '-'], deployment.replace('apps/v1', 'apps/v2'));
    assert.equal(kind.code, 1, kind.stdout);
    assert.match(kind.stderr, /no matches for kind "Deployment" in version "apps\/v2"/);
  });
});

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { manifestPaths } from '../../scripts/kubernetes-schemas/manifest-kinds.ts';
import { objectsOf } from '../deploy/support/manifests.ts';
import { type GetSuite, kubectls } from './live-suite.ts';

const root = resolve(import.meta.dirname, '../..');
/** A patch for kubeadm is no whole object: no server takes it for one. */
const whole = manifestPaths.filter((path) => !path.endsWith('+strategic.yaml'));

/** The manifests that are shipped, by the decoders and the admission of real servers. Nothing of them is stored. */
export function registerManifestCases(suite: GetSuite): void {
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
      // It warns of roles that are there already, for the sync job of this suite has them.
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

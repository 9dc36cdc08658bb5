import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { createCertificateAuthority } from '../../demo/certificate-authority.ts';
import { findKubectls, kubectlMissing, runKubectl } from '../support/kubectl.ts';
import { startDemo } from '../support/running-demo.ts';

const kubectl = findKubectls().at(-1);

test('kubectl with a certificate of an authority that the cluster does not know is refused', {
  skip: kubectl === undefined && kubectlMissing,
}, async (context) => {
  assert.ok(kubectl !== undefined);
  const directory = await mkdtemp(join(tmpdir(), 'identity-'));
  context.after(() => rm(directory, { recursive: true, force: true }));
  const running = await startDemo();
  context.after(() => running.stop());
  const rogue = await createCertificateAuthority('demo-cluster-ca');
  const { certificate, privateKey } = await rogue.issue({
    commonName: 'kubernetes-admin',
    organizations: ['system:masters'],
    usage: 'client',
  });
  await writeFile(join(directory, 'rogue.crt'), certificate);
  await writeFile(join(directory, 'rogue.key'), privateKey, { mode: 0o600 });
  const result = await runKubectl(kubectl, running.home, [
    // Not the demo's, whose certificate would be used beside it.
    '--kubeconfig=/dev/null',
    `--server=${running.demo.routers[0]?.origin}`,
    `--certificate-authority=${running.demo.certificates.clusterCa}`,
    `--client-certificate=${join(directory, 'rogue.crt')}`,
    `--client-key=${join(directory, 'rogue.key')}`,
    'get',
    'pods',
  ]);
  assert.equal(result.code, 1);
  assert.match(result.stderr, /must be logged in|Unauthorized/);
});

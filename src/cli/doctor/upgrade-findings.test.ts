import assert from 'node:assert/strict';
import { cp, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { syncCluster } from '../../../test/support/clusters/sync-cluster.ts';
import { commandContext } from '../../../test/support/commands/command-context.ts';
import { type ServerOptions, snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { runCommandLine } from '../run-command-line.ts';
import { readTextFile } from '../terminal/command-context.ts';
import type { Finding } from './finding.ts';
import { upgradeFindings } from './upgrade-findings.ts';

const told = (findings: readonly Finding[], check: string) =>
  findings.filter((finding) => finding.check === check).map(({ result, message }) => `${result}: ${message}`);

const upgrade = async (from: ServerOptions, to: ServerOptions) =>
  upgradeFindings(snapshotOf({ a: from, b: from }), snapshotOf({ c: to }));

const old = { version: 'v1.31.0', serves: ['v1/pods'], schemas: { 'core.pods': { v1: 'c2FtZS4uLi4=' } } };
const next = { ...old, version: 'v1.32.0' };

describe('what an upgrade changes', () => {
  it('is nothing where the versions serve the same', async () => {
    const findings = await upgrade(old, next);
    assert.deepEqual(
      findings.map(({ result }) => result),
      findings.map(() => 'ok'),
    );
  });

  it('is more than Kubernetes supports when a minor version is skipped, or the way is back', async () => {
    assert.match(
      told(await upgrade(old, { ...old, version: 'v1.33.0' }), 'upgrade').join(),
      /^warning: .*2 minor/,
    );
    assert.match(told(await upgrade(next, old), 'upgrade').join(), /^warning: .*a downgrade/);
  });

  it('is a version of a resource that vanishes: a warning while another one is served all the way', async () => {
    const [finding] = told(
      await upgrade(
        { ...old, serves: ['batch/v1/cronjobs', 'batch/v1beta1/cronjobs'] },
        { ...next, serves: ['batch/v1/cronjobs'] },
      ),
      'resources that vanish',
    );
    assert.match(
      finding ?? '',
      /^warning: batch\/v1beta1 of cronjobs .* move clients and manifests to batch\/v1,/,
    );
  });

  it('advises to move to the stable version where a beta stays as well', async () => {
    const devices = (...versions: string[]) =>
      versions.map((version) => `resource.k8s.io/${version}/devices`);
    const findings = await upgrade(
      { ...old, serves: devices('v1beta1', 'v1beta10', 'v1beta2', 'v1') },
      { ...next, serves: devices('v1', 'v1beta2', 'v1beta10') },
    );
    assert.match(
      told(findings, 'resources that vanish').join(),
      / move clients and manifests to resource\.k8s\.io\/v1,/,
    );
    const betas = await upgrade(
      { ...old, serves: devices('v1beta1', 'v1beta10', 'v1beta2') },
      { ...next, serves: devices('v1beta2', 'v1beta10') },
    );
    assert.match(
      told(betas, 'resources that vanish').join(),
      / move clients and manifests to resource\.k8s\.io\/v1beta10,/,
    );
  });

  it('is a failure where no version of a resource is served all the way', async () => {
    const findings = await upgrade(
      { ...old, serves: ['resource.k8s.io/v1alpha3/resourceclaims', 'policy/v1beta1/podsecuritypolicies'] },
      { ...next, serves: ['resource.k8s.io/v1/resourceclaims'] },
    );
    const [policies, claims] = told(findings, 'resources that vanish').sort().reverse();
    assert.match(claims ?? '', /^failed: .*podsecuritypolicies .* delete its objects before/);
    assert.match(policies ?? '', /^failed: .*resourceclaims .*clients have to change with the upgrade/);
  });

  it('is a field that may be lost, and a policy that may be evaded', async () => {
    const findings = await upgrade(old, {
      ...next,
      serves: ['v1/pods', 'admissionregistration.k8s.io/v1/mutatingadmissionpolicies'],
      schemas: { 'core.pods': { v1: 'b3RoZXIuLi4=' } },
    });
    const [lost] = findings.filter(({ check }) => check === 'fields that may be lost');
    assert.deepEqual(lost?.resources, ['pods v1']);
    assert.match(told(findings, 'admission policies').join(), /^warning: .*every write/);
  });

  it('is not called nothing where schemas are not known', async () => {
    const { schemas: _, ...unknown } = next;
    assert.match(
      told(await upgrade(old, unknown), 'fields that may be lost').join(),
      /^warning: 1 resource cannot/,
    );
  });
});

describe('doctor --upgrade-to', () => {
  const recorded = fileURLToPath(new URL('../../../test/fixtures/kubernetes-1.25-1.26', import.meta.url));
  let folder = '';
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'upgrade-'));
    // The recording of the upgrade, taken apart: what ran before it, and what ran after it.
    for (const server of ['a', 'b']) {
      const other = join(recorded, server === 'a' ? 'b' : 'a');
      await cp(recorded, join(folder, server), {
        recursive: true,
        filter: (source) => source !== other,
      });
    }
    await writeFile(join(folder, 'empty.json'), '{}');
  });
  after(() => rm(folder, { recursive: true }));

  const run = async (...parameters: string[]) => {
    const { context, written } = commandContext(new Map());
    const code = await runCommandLine(['doctor', '-o', 'json', ...parameters], {
      ...context,
      readFile: readTextFile,
    });
    return { code, ...written };
  };

  it('names what the upgrade from recorded 1.25 to recorded 1.26 takes away, and ends with 1', async () => {
    const { code, output } = await run(
      '--upgrade-from',
      join(folder, 'a'),
      '--upgrade-to',
      join(folder, 'b'),
    );
    assert.equal(code, 1);
    const findings: Finding[] = JSON.parse(output);
    assert.match(told(findings, 'upgrade').join(), /^ok: v1\.25\.\S+ to v1\.26/);
    const vanishing = told(findings, 'resources that vanish').join('\n');
    assert.match(vanishing, /autoscaling\/v2beta2 of horizontalpodautoscalers .*autoscaling\/v2,/);
    assert.match(vanishing, /flowcontrol\.apiserver\.k8s\.io\/v1beta1 of flowschemas/);
    assert.match(told(findings, 'fields that may be lost').join(), /cannot be compared/);
  });

  it('knows what versions of Kubernetes serve by default, by their names', async () => {
    const { code, output } = await run('--upgrade-from', '1.35', '--upgrade-to', 'v1.36.2');
    assert.equal(code, 1);
    const findings: Finding[] = JSON.parse(output);
    assert.match(told(findings, 'upgrade').join(), /^ok: v1\.35\.\S+ to v1\.36/);
    assert.match(told(findings, 'resources that vanish').join(), /^ok: /);
    assert.match(
      told(findings, 'fields that may be lost').join(),
      /^warning: schemas of \d+ resources differ/,
    );
    assert.match(told(findings, 'admission policies').join(), /^warning: /);
    const lossy = findings.find(({ check }) => check === 'fields that may be lost');
    assert.ok(lossy?.resources?.includes('pods v1'));
  });

  it('reads the cluster of a kubeconfig, schemas included, without a router', async (context) => {
    const cluster = await syncCluster(context);
    const server = await cluster.startServer({ version: '1.35', name: 'cp-a' });
    const { code, output, errors } = await run(
      '--upgrade-from',
      await cluster.kubeconfig(server),
      '--upgrade-to',
      '1.36',
    );
    assert.equal(code, 1, errors);
    const findings: Finding[] = JSON.parse(output);
    assert.match(told(findings, 'upgrade').join(), /^ok: v1\.35\.\S+ to v1\.36/);
    await server.close();
    const gone = await run('--upgrade-from', await cluster.kubeconfig(server), '--upgrade-to', '1.36');
    assert.equal(gone.code, 2);
    assert.match(gone.errors, /^error: --upgrade-from: .*kubeconfig/);
  });

  it('says what is missing, or cannot be read', async () => {
    for (const [parameters, message] of [
      [['--upgrade-from', join(folder, 'a')], /--upgrade-from needs --upgrade-to/],
      [
        ['--upgrade-to', join(folder, 'nowhere'), '--upgrade-from', join(folder, 'a')],
        /^error: --upgrade-to: cannot read .*nowhere/,
      ],
      [
        ['--upgrade-to', '1.99'],
        /^error: --upgrade-to: nothing is known here of Kubernetes 1\.99, only of 1\.\d+/,
      ],
      [
        ['--upgrade-to', join(folder, 'empty.json'), '--upgrade-from', join(folder, 'a')],
        /empty\.json: .*is required/,
      ],
      [
        ['--upgrade-to', tmpdir(), '--upgrade-from', join(folder, 'a', 'a')],
        /--upgrade-from: .*(tells of no|no recording)/,
      ],
    ] as const) {
      const { code, errors } = await run(...parameters);
      assert.equal(code, 2, errors);
      assert.match(errors, message);
    }
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { syncJobName } from '../../demo/certificates.ts';
import { writeKubeconfig } from '../../demo/kubeconfig.ts';
import type { Finding } from '../../src/cli/doctor/finding.ts';
import { runCommandLine } from '../../src/cli/run-command-line.ts';
import { readTextFile } from '../../src/cli/terminal/command-context.ts';
import { commandContext } from '../support/command-context.ts';
import type { GetSuite } from './live-suite.ts';

/** What `doctor` finds, with the answers of real servers to what it asks them. */
export function registerDoctorCases(suite: GetSuite): void {
  const examine = async (more: readonly string[]): Promise<readonly Finding[]> => {
    const { flags } = suite().cluster.sidecars[0];
    const { context, written } = commandContext(new Map());
    await runCommandLine(['doctor', ...flags, '-o', 'json', ...more], { ...context, readFile: readTextFile });
    assert.ok(written.output !== '', written.errors);
    return JSON.parse(written.output);
  };
  const resultsOf = (findings: readonly Finding[], check: RegExp) =>
    findings
      .filter((finding) => check.test(finding.check))
      .map(({ result, message }) => `${result}: ${message}`);

  test('doctor sees that servers of both versions believe the router, and what the sync job may do', async () => {
    const { certificates, directory, servers } = suite().cluster;
    const kubeconfig = await writeKubeconfig(join(directory, 'doctor.kubeconfig'), {
      servers: { c: servers[2].url },
      certificateAuthority: certificates.clusterCa,
      users: { sync: certificates.sync },
    });
    const findings = await examine(['--sync-kubeconfig', kubeconfig]);
    const identities = resultsOf(findings, /^identity at /);
    assert.equal(identities.length, servers.length);
    for (const identity of identities) assert.match(identity, /^ok: /);
    const rights = resultsOf(findings, /^rights of the sync job$/);
    assert.equal(rights.length, servers.length, rights.join('\n'));
    for (const right of rights)
      assert.match(right, new RegExp(`^ok: .* gives "${syncJobName}" every right it needs`));
  });

  test('doctor sees that they do not believe another front proxy, and what users may not do', async () => {
    const { certificates, directory, servers } = suite().cluster;
    const { certificate, privateKey } = certificates.otherFrontProxy;
    const kubeconfig = await writeKubeconfig(join(directory, 'doctor-alice.kubeconfig'), {
      servers: { a: servers[0].url },
      certificateAuthority: certificates.clusterCa,
      users: { alice: certificates.alice },
    });
    const findings = await examine([
      `--proxy-client-cert-file=${certificate}`,
      `--proxy-client-key-file=${privateKey}`,
      '--sync-kubeconfig',
      kubeconfig,
    ]);
    const identities = resultsOf(findings, /^identity at /);
    assert.equal(identities.length, servers.length);
    for (const identity of identities) assert.match(identity, /^failed: .* refuses .*\(401\)/);
    const rights = resultsOf(findings, /^rights of the sync job$/);
    assert.ok(rights.some((right) => /^failed: at .*, "alice" may not list and watch leases/.test(right)));
  });
}

import assert from 'node:assert/strict';
import { test } from 'node:test';
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

  test('doctor sees that servers of both versions believe the router', async () => {
    const { servers } = suite().cluster;
    const findings = await examine([]);
    const identities = resultsOf(findings, /^identity at /);
    assert.equal(identities.length, servers.length);
    for (const identity of identities) assert.match(identity, /^ok: /);
  });

  test('doctor sees that they do not believe another front proxy', async () => {
    const { certificates, servers } = suite().cluster;
    const { certificate, privateKey } = certificates.otherFrontProxy;
    const findings = await examine([
      `--proxy-client-cert-file=${certificate}`,
      `--proxy-client-key-file=${privateKey}`,
    ]);
    const identities = resultsOf(findings, /^identity at /);
    assert.equal(identities.length, servers.length);
    for (const identity of identities) assert.match(identity, /^failed: .* refuses .*\(401\)/);
  });
}

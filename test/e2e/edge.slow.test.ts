import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { denoBinary, denoMissing } from '../../scripts/edge/start-deno.ts';
import { canConnect } from '../support/can-connect.ts';
import { findKubectls, type KubectlResult, kubectlMissing, runKubectl } from '../support/kubectl.ts';
import { type EdgeDemoUnderTest, startEdgeDemo } from '../support/running-demo.ts';

const kubectls = findKubectls();

describe('kubectl through Deno, in front of the mixed cluster', {
  skip: kubectls.length === 0 ? kubectlMissing : denoBinary() === undefined && denoMissing,
}, () => {
  let running: EdgeDemoUnderTest;
  before(async () => {
    running = await startEdgeDemo({ runtime: 'deno' });
  });
  after(() => running.stop());

  for (const kubectl of kubectls) {
    test(`kubectl ${kubectl.version}: auth whoami, create and get, each from the server that serves it`, async () => {
      const run = (args: readonly string[], input?: string) =>
        runKubectl(kubectl, running.home, ['--kubeconfig', running.demo.kubeconfig, ...args], input);
      const whoami = ok(await run(['--context', 'alice@edge', 'auth', 'whoami', '-o', 'json']));
      const { username, groups } = JSON.parse(whoami).status.userInfo;
      assert.deepEqual([username, groups], ['alice', ['dev', 'qa', 'system:authenticated']]);
      const name = `policy-${kubectl.version}`.replaceAll('.', '-');
      const policy = {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingAdmissionPolicy',
        metadata: { name },
        spec: { failurePolicy: 'Fail', validations: [{ expression: 'true' }] },
      };
      ok(await run(['create', '-f', '-'], JSON.stringify(policy)));
      assert.match(ok(await run(['get', 'validatingadmissionpolicies', '-o', 'name'])), new RegExp(name));
    });
  }
});

test('the demo leaves nothing behind: no process, no port, no file', async () => {
  const { demo, directory, stop } = await startEdgeDemo();
  const ports = [demo.edge, ...demo.routers].map(({ origin }) => Number(new URL(origin).port));
  await stop();
  assert.equal(existsSync(directory), false);
  assert.deepEqual(
    await Promise.all(ports.map(canConnect)),
    ports.map(() => false),
  );
});

/** The output of a command that must work. */
function ok({ code, stdout, stderr }: KubectlResult): string {
  assert.equal(code, 0, stderr);
  return stdout;
}

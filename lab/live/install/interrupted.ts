import assert from 'node:assert/strict';
import { tlsRequest } from '../../../test/support/clients/tls-request.ts';
import type { KubernetesRelease } from './install-assets.ts';
import { image, installedFiles, type KubeadmCluster } from './kubeadm-cluster.ts';
import type { CommandResult, Machine } from './machine.ts';
import type { Tell } from './steps.ts';

/** The two forms of an installation; what it says at last is no place to be cut off. */
const forms = [
  { name: 'beside kube-apiserver', args: [`--image=${image}`] },
  { name: 'on the port of kube-apiserver', args: [`--image=${image}`, '--take-port'] },
] as const;

const rights = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/mixed-version-proxy-reader';

/**
 * An installation is killed after each line that it says, which is in each of its steps, and twice in most. It is finished by
 * the next one, or taken back, in turn; afterwards the node is as it was.
 */
export async function installInterrupted(
  cluster: KubeadmCluster,
  release: KubernetesRelease,
  tell: Tell,
): Promise<void> {
  const [machine, other] = cluster.machines;
  if (machine === undefined || other === undefined) throw new TypeError('there are machines');
  const before = await installedFiles(machine);
  const run = (...args: readonly string[]) => cluster.install(machine, release, ...args);
  const undo = async (what: string) => {
    succeeded(await run('--undo'), what);
    assert.deepEqual(await installedFiles(machine), before, what);
    await cluster.untilReady(machine, 6443);
    assert.equal(await statusOfRights(cluster, machine), 404, what);
  };

  for (const { name, args } of forms) {
    const lines = succeeded(await run(...args), name)
      .split('\n')
      .filter((line) => line !== '');
    assert.match(
      succeeded(await run(...args), 'again'),
      /^nothing to do: the router is installed, and ready/,
    );
    await undo(name);
    await tell(`${name}: installed, installed again, taken back, as before; it said ${lines.length} lines`);
    for (const [index, line] of lines.slice(0, -1).entries()) {
      const cut = await cluster.installUntil(machine, release, line, ...args);
      assert.equal(cut.code === 0, false, `${line} was the last: ${cut.output}`);
      // Both, turn by turn, each at every second place; the other form has the others.
      const isFinished = (index + (args.length % 2)) % 2 === 0;
      if (isFinished) succeeded(await run(...args), `after ${line}`);
      await undo(line);
      await tell(`${name}: killed at "${line}", ${isFinished ? 'finished and ' : ''}taken back: as before`);
    }
  }
  await twoAtOnce(cluster, release, [machine, other], tell);
}

/** Two on one node: one is refused. One on each of two nodes: one is refused, or waits until the other one has ended. */
async function twoAtOnce(
  cluster: KubeadmCluster,
  release: KubernetesRelease,
  [machine, other]: readonly [Machine, Machine],
  tell: Tell,
): Promise<void> {
  for (const [second, refusal] of [
    [machine, /another install kubeadm runs on this node/],
    [other, /holds Lease kube-system\/mixed-version-proxy-install/],
  ] as const) {
    const before = await Promise.all([machine, second].map(installedFiles));
    const both = [machine, second].map((each) =>
      cluster.install(each, release, `--image=${image}`, '--take-port'),
    );
    const results = await Promise.all(both);
    const kept = results.filter(({ output }) => refusal.test(output));
    assert.equal(kept.length, 1, results.map(({ output }) => output).join('\n'));
    const refused = results.filter(({ code }) => code !== 0);
    assert.ok(refused.every((each) => kept.includes(each)) && (second !== machine || refused.length === 1));
    for (const each of new Set([machine, second]))
      succeeded(await cluster.install(each, release, '--undo'), 'undo');
    assert.deepEqual(await Promise.all([machine, second].map(installedFiles)), before);
    const how = refused.length === 1 ? 'was refused' : 'waited for its turn';
    await tell(`two at once, on ${machine.name} and ${second.name}: one ${how}, nothing is left of either`);
  }
}

function succeeded({ code, output }: CommandResult, what: string): string {
  assert.equal(code, 0, `${what}: ${output}`);
  return output;
}

async function statusOfRights({ admin }: KubeadmCluster, { address }: Machine): Promise<number> {
  return (await tlsRequest(`https://${address}:6443${rights}`, admin)).statusCode;
}

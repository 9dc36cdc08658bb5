import assert from 'node:assert/strict';
import { rename } from 'node:fs/promises';
import { waitUntil } from '../../../scripts/harness/wait-until.ts';
import type { KubernetesRelease } from './install-assets.ts';
import { image, type KubeadmCluster, touched } from './kubeadm-cluster.ts';
import type { Machine } from './machine.ts';

const patience = '--timeout=40s';
const listenOn = (port: number) =>
  `require('net').createServer().listen(${port}, () => console.log('listening')); setTimeout(() => process.exit(), 15_000)`;

/** What goes wrong on the way, by name: each tells what it is, and leaves nothing half done. */
export const faults: Readonly<
  Record<string, (cluster: KubeadmCluster, release: KubernetesRelease) => Promise<string>>
> = {
  async 'the other port is taken'(cluster, release) {
    const machine = firstOf(cluster);
    const held = machine.run('', process.execPath, '-e', listenOn(6444));
    await waitUntil('the port is taken', async () => {
      const { output } = await machine.run('', 'cat', '/proc/net/tcp6', '/proc/net/tcp');
      return output.includes(':192C ');
    });
    try {
      return await refused(cluster, machine, release, /something listens on 6444 already/);
    } finally {
      await held;
    }
  },

  async 'the key of the CA is not there'(cluster, release) {
    const machine = firstOf(cluster);
    const key = machine.at('/etc/kubernetes/pki/ca.key');
    await rename(key, `${key}.away`);
    const before = await machine.files(touched);
    const words = await refused(
      cluster,
      machine,
      release,
      /ca\.key.*make the kubeconfig of the user/s,
      before,
    );
    await rename(`${key}.away`, key);
    return words;
  },

  async 'another node is down'(cluster, release) {
    const [machine, other] = [firstOf(cluster), lastOf(cluster)];
    await other.cutPower();
    await waitUntil(
      'the load balancer has noticed',
      async () => !(await cluster.balancer.healthy()).includes(other.address),
    );
    const words = await refused(
      cluster,
      machine,
      release,
      new RegExp(`node ${other.name}: .*one node at a time`),
    );
    await other.start();
    await cluster.untilReady(other, 6443);
    return words;
  },

  async 'the image of the router is not what it should be'(cluster, release) {
    const machine = firstOf(cluster);
    const before = await machine.files(touched);
    const { code, output } = await cluster.install(
      machine,
      release,
      '--take-port',
      '--image=registry.example/other:1',
      patience,
    );
    assert.equal(code, 1, output);
    assert.match(output, /6443\/readyz did not respond.*everything has been put back/s);
    assert.deepEqual(await machine.files(touched), before);
    await cluster.untilReady(machine, 6443);
    return lastLines(output);
  },

  async 'another image of the router is not what it should be'(cluster, release) {
    const machine = firstOf(cluster);
    const before = await machine.files(touched);
    const first = await cluster.install(machine, release, '--take-port', `--image=${image}`);
    assert.equal(first.code, 0, first.output);
    const installed = await machine.files(touched);
    const other = '--image=registry.example/other:1';
    const { code, output } = await cluster.install(machine, release, other, patience);
    assert.equal(code, 1, output);
    assert.match(output, /put back: .*\/mixed-version-proxy\.yaml\n.*everything has been put back/s);
    assert.deepEqual(await machine.files(touched), installed);
    await cluster.untilReady(machine, 6443);
    const undone = await cluster.install(machine, release, '--undo');
    assert.equal(undone.code, 0, undone.output);
    assert.deepEqual(await machine.files(touched), before);
    return lastLines(output);
  },

  async 'the installation is killed, and then made again'(cluster, release) {
    const machine = firstOf(cluster);
    const before = await machine.files(touched);
    await killed(cluster, machine, release, '/var/lib/mixed-version-proxy-install/journal.json');
    const again = await cluster.install(machine, release, '--take-port', `--image=${image}`);
    assert.equal(again.code, 0, again.output);
    const undone = await cluster.install(machine, release, '--undo');
    assert.equal(undone.code, 0, undone.output);
    assert.deepEqual(await machine.files(touched), before);
    return 'finished by the next one';
  },

  async 'the node loses power while kube-apiserver moves'(cluster, release) {
    const machine = firstOf(cluster);
    const before = await machine.files(touched);
    const running = cluster.install(machine, release, '--take-port', `--image=${image}`);
    await waitUntil('kube-apiserver is moved', async () => {
      const manifest = await machine.text('/etc/kubernetes/manifests/kube-apiserver.yaml');
      return manifest?.includes('--secure-port=6444') === true;
    });
    await machine.cutPower();
    await running;
    await machine.start();
    const undone = await cluster.install(machine, release, '--undo');
    assert.equal(undone.code, 0, undone.output);
    assert.deepEqual(await machine.files(touched), before);
    await cluster.untilReady(machine, 6443);
    return 'taken back after it';
  },
};

/** Nothing is done, nothing is left behind. */
async function refused(
  cluster: KubeadmCluster,
  machine: Machine,
  release: KubernetesRelease,
  words: RegExp,
  before?: ReadonlyMap<string, string>,
): Promise<string> {
  const had = before ?? (await machine.files(touched));
  const { code, output } = await cluster.install(
    machine,
    release,
    '--take-port',
    `--image=${image}`,
    patience,
  );
  assert.equal(code, 1, output);
  assert.match(output, words);
  assert.deepEqual(await machine.files(touched), had);
  return lastLines(output);
}

/** Ends the command as soon as it has written this file. */
async function killed(
  cluster: KubeadmCluster,
  machine: Machine,
  release: KubernetesRelease,
  path: string,
): Promise<void> {
  const running = cluster.install(machine, release, '--take-port', `--image=${image}`);
  await waitUntil(`${path} is there`, async () => (await machine.files(touched)).has(path), { every: 10 });
  await machine.killCommand();
  const { code } = await running;
  assert.notEqual(code, 0);
}

function lastLines(output: string): string {
  return output.trimEnd().split('\n').slice(-2).join(' ');
}

function firstOf({ machines }: KubeadmCluster): Machine {
  return machines[0] ?? assert.fail();
}

function lastOf({ machines }: KubeadmCluster): Machine {
  return machines.at(-1) ?? assert.fail();
}

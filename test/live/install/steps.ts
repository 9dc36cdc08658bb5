import assert from 'node:assert/strict';
import { agreementOf, differencesBetween } from '../../../src/cli/status/agreement.ts';
import { parseStatusView } from '../../../src/own-paths/status/status-view.ts';
import { eventually } from '../../support/eventually.ts';
import { type ExclusiveResource, exclusiveResource } from '../exclusive-resources.ts';
import { tlsRequest } from '../tls-request.ts';
import { faults } from './faults.ts';
import type { InstallAssets, KubernetesRelease } from './install-assets.ts';
import { image, type KubeadmCluster, touched } from './kubeadm-cluster.ts';
import { startLoad } from './load.ts';
import type { Machine } from './machine.ts';
import { followServiceEndpoints } from './service-endpoints.ts';

/** A line for whoever reads the run. */
export type Tell = (line: string) => Promise<void>;

/** As the guide has it: out of the load balancer, the command, back into it. */
async function outOfBalancer(
  { balancer }: KubeadmCluster,
  machine: Machine,
  what: string,
  act: () => Promise<void>,
  tell: Tell,
): Promise<void> {
  const begun = Date.now();
  await balancer.drain(machine.address);
  await act();
  await balancer.restore(machine.address);
  await tell(`${what} on ${machine.name}: ${Math.round((Date.now() - begun) / 1000)} s`);
}

async function command(
  cluster: KubeadmCluster,
  machine: Machine,
  release: KubernetesRelease,
  ...args: readonly string[]
): Promise<void> {
  const { code, output } = await cluster.install(machine, release, ...args);
  assert.equal(code, 0, `install kubeadm ${args.join(' ')} on ${machine.name}: ${output}`);
}

async function installAll(cluster: KubeadmCluster, release: KubernetesRelease, tell: Tell): Promise<void> {
  for (const machine of cluster.machines) {
    await outOfBalancer(
      cluster,
      machine,
      'installed',
      () => command(cluster, machine, release, `--image=${image}`),
      tell,
    );
  }
}

async function undoAll(cluster: KubeadmCluster, release: KubernetesRelease, tell: Tell): Promise<void> {
  for (const machine of cluster.machines) {
    await outOfBalancer(
      cluster,
      machine,
      'removed',
      () => command(cluster, machine, release, '--undo'),
      tell,
    );
  }
}

async function filesOf({ machines }: KubeadmCluster) {
  return Promise.all(machines.map((machine) => machine.files(touched)));
}

/** Waits until the routers of all nodes know the same. */
async function routersAgree({ machines, admin }: KubeadmCluster): Promise<void> {
  let told: unknown;
  await eventually(async () => {
    const routers = await Promise.all(
      machines.map(async ({ address }) => {
        const server = `https://${address}:6443`;
        const { text } = await tlsRequest(`${server}/.mixed-version-proxy/v1/status`, admin);
        const status = parseStatusView(text) ?? null;
        return { server, serverId: status?.serverId ?? null, error: null, status };
      }),
    );
    const differences = differencesBetween(routers);
    told = differences;
    return agreementOf(routers, differences, []) === true;
  }).catch((cause: unknown) => {
    throw new Error(`the routers do not agree: ${JSON.stringify(told)}`, { cause });
  });
}

export async function meetFaults(
  cluster: KubeadmCluster,
  release: KubernetesRelease,
  tell: Tell,
): Promise<void> {
  for (const [name, meet] of Object.entries(faults)) {
    await tell(`${name}: ${await meet(cluster, release)}`);
  }
}

export async function installAndUndo(
  cluster: KubeadmCluster,
  release: KubernetesRelease,
  tell: Tell,
): Promise<void> {
  const before = await filesOf(cluster);
  const load = await startLoad({ 'load balancer': cluster.origin }, cluster.admin, 'without-upgrade');
  const service = followServiceEndpoints(cluster.origin, cluster.admin);
  await installAll(cluster, release, tell);
  await routersAgree(cluster);
  await tell('the routers of all nodes agree');
  await undoAll(cluster, release, tell);
  const states = await service.stop();
  const { lines, faults: wrong } = await load.stop();
  for (const line of lines) await tell(line);
  for (const state of states) await tell(`the Service default/kubernetes: ${state}`);
  // By the one that it had when all had moved, and the one of before.
  assert.ok(states.some((state) => state.startsWith('6444 of 10.89.0.11, 10.89.0.12, 10.89.0.13')));
  assert.match(states.at(-1) ?? '', /^6443 of 10\.89\.0\.11, 10\.89\.0\.12, 10\.89\.0\.13/);
  assert.deepEqual(await filesOf(cluster), before);
  assert.deepEqual(wrong, []);
}

/** kubeadm keeps copies of what it has replaced there. */
const kubeadmCopies = '/etc/kubernetes/tmp/';
const patches = '/etc/kubernetes/patches';

export async function installUpgradeAndUndo(
  cluster: KubeadmCluster,
  { older, newer }: InstallAssets,
  tell: Tell,
): Promise<void> {
  const { machines, origin, admin } = cluster;
  const [first] = machines;
  const last = machines.at(-1);
  if (first === undefined || last === undefined) throw new TypeError('there are machines');
  const before = await filesOf(cluster);
  const load = await startLoad({ 'load balancer': origin }, admin, 'with-upgrade');
  await installAll(cluster, older, tell);

  const ofNodes = Object.fromEntries(machines.map(({ name, address }) => [name, `https://${address}:6443`]));
  const loadOfNodes = await startLoad(ofNodes, admin, 'nodes');
  const loads = [load, loadOfNodes];
  await cluster.phase(first, newer, 'upload-config', 'all');
  const server = (machine: Machine, { apiServer }: KubernetesRelease) => ({
    url: `https://${machine.address}:6444`,
    binary: () => apiServer,
  });
  let gone: ExclusiveResource | undefined;
  for (const machine of machines) {
    const begun = Date.now();
    if (machine === last && gone !== undefined) for (const each of loads) await each.leave(gone);
    await cluster.kubeadm(
      machine,
      newer,
      'upgrade',
      'node',
      'phase',
      'control-plane',
      `--patches=${patches}`,
    );
    await cluster.untilReady(machine, 6444);
    await tell(`upgraded on ${machine.name}: ${Math.round((Date.now() - begun) / 1000)} s`);
    if (machine !== first) continue;
    const [upgraded, other] = [server(first, newer), server(last, older)];
    const come = await exclusiveResource({ admin }, upgraded, other);
    gone = await exclusiveResource({ admin }, other, upgraded);
    await tell(
      `only ${newer.version}: ${come.resource} ${come.apiVersion}; only ${older.version}: ${gone.resource} ${gone.apiVersion}`,
    );
    for (const each of loads) for (const resource of [come, gone]) await each.read(resource, origin);
  }
  const ofTheNodes = await loadOfNodes.stop();
  await undoAll(cluster, newer, tell);
  const { lines, faults: wrong } = await load.stop();
  for (const line of [...ofTheNodes.lines, ...lines]) await tell(line);

  const after = await filesOf(cluster);
  for (const [index, machine] of machines.entries()) {
    const had = [...(before[index]?.keys() ?? [])];
    const has = [...(after[index]?.keys() ?? [])].filter((path) => !path.startsWith(kubeadmCopies));
    assert.deepEqual(has.sort(), had.sort(), machine.name);
    const manifest = await machine.text('/etc/kubernetes/manifests/kube-apiserver.yaml');
    assert.equal(manifest, await cluster.plainManifest(machine, newer), machine.name);
  }
  assert.deepEqual([...ofTheNodes.faults, ...wrong], []);
}

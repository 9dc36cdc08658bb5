import assert from 'node:assert/strict';
import { agreementOf, differencesBetween } from '../../../src/cli/status/routers-view.ts';
import { parseRouterStatus } from '../../../src/own-paths/status/status-schema.ts';
import { eventually } from '../../support/eventually.ts';
import { type ExclusiveResource, exclusiveResource } from '../exclusive-resources.ts';
import { tlsRequest } from '../tls-request.ts';
import type { InstallAssets, KubernetesRelease } from './install-assets.ts';
import { image, type KubeadmCluster, touched } from './kubeadm-cluster.ts';
import { type Load, startLoad } from './load.ts';
import type { Machine } from './machine.ts';
import { followServiceEndpoints } from './service-endpoints.ts';

/** A line for whoever reads the run. */
export type Tell = (line: string) => Promise<void>;

/** Says how long a step took, and what became of the reads meanwhile. */
async function timed(what: string, load: Load, act: () => Promise<void>, tell: Tell): Promise<void> {
  const [begun, before] = [Date.now(), load.tally()];
  await act();
  const { ok, notFound, forbidden, refused, broken } = load.tally();
  const wrong = forbidden + refused + broken - before.forbidden - before.refused - before.broken;
  const reads = ok - before.ok + notFound - before.notFound + wrong;
  await tell(
    `${what}: ${((Date.now() - begun) / 1000).toFixed(1)} s; reads ${reads}, wrong 404 ${notFound - before.notFound}, failed ${wrong}`,
  );
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

/** Every node, as the guide has it. @param without whether the load balancer leaves the node out meanwhile */
async function onEach(
  cluster: KubeadmCluster,
  load: Load,
  release: KubernetesRelease,
  [what, ...args]: readonly [string, ...string[]],
  { port, without }: { readonly port: number; readonly without: boolean },
  tell: Tell,
): Promise<void> {
  const { balancer, machines } = cluster;
  for (const machine of machines) {
    const { address, name } = machine;
    const isUndo = args.includes('--undo');
    if (without) await timed(`load balancer leaves ${name} out`, load, () => balancer.drain(address), tell);
    // Nobody comes by the router any more when it goes.
    const point = () => balancer.restore(address, port);
    const pointed = `load balancer leads to ${port} of ${name}`;
    if (isUndo && !without) await timed(pointed, load, point, tell);
    await timed(`${what} on ${name}`, load, () => command(cluster, machine, release, ...args), tell);
    if (!isUndo || without) await timed(pointed, load, point, tell);
  }
}

const beside = ['installed beside kube-apiserver', `--image=${image}`] as const;
const takePort = ['port taken', '--take-port', `--image=${image}`] as const;
const undone = ['removed', '--undo'] as const;

async function filesOf({ machines }: KubeadmCluster) {
  return Promise.all(machines.map((machine) => machine.files(touched)));
}

/** Waits until the routers of all nodes know the same. */
async function routersAgree({ machines, admin }: KubeadmCluster, port: number): Promise<void> {
  let told: unknown;
  await eventually(async () => {
    const routers = await Promise.all(
      machines.map(async ({ address }) => {
        const server = `https://${address}:${port}`;
        const { text } = await tlsRequest(`${server}/.mixed-version-proxy/v1/status`, admin);
        const status = parseRouterStatus(text) ?? null;
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

export async function installAndUndo(
  cluster: KubeadmCluster,
  release: KubernetesRelease,
  tell: Tell,
): Promise<void> {
  const before = await filesOf(cluster);
  const load = await startLoad({ 'load balancer': cluster.origin }, cluster.admin, 'without-upgrade');
  const service = followServiceEndpoints(cluster.origin, cluster.admin);
  await onEach(cluster, load, release, takePort, { port: 6443, without: true }, tell);
  await routersAgree(cluster, 6443);
  await tell('the routers of all nodes agree');
  await onEach(cluster, load, release, undone, { port: 6443, without: true }, tell);
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
  form: 'beside' | 'upgrade',
  tell: Tell,
): Promise<void> {
  const { machines, origin, admin } = cluster;
  const [first] = machines;
  const last = machines.at(-1);
  if (first === undefined || last === undefined) throw new TypeError('there are machines');
  const before = await filesOf(cluster);
  const load = await startLoad({ 'load balancer': origin }, admin, 'with-upgrade');
  await onEach(cluster, load, older, beside, { port: 7443, without: false }, tell);
  await routersAgree(cluster, 7443);
  const isBeside = form === 'beside';
  if (!isBeside) await onEach(cluster, load, older, takePort, { port: 6443, without: true }, tell);
  const [routerPort, serverPort] = isBeside ? [7443, 6443] : [6443, 6444];
  await routersAgree(cluster, routerPort);
  await tell('the routers of all nodes agree');

  const ofNodes = Object.fromEntries(
    machines.map(({ name, address }) => [name, `https://${address}:${routerPort}`]),
  );
  const loadOfNodes = await startLoad(ofNodes, admin, 'nodes');
  const loads = [load, loadOfNodes];
  await cluster.phase(first, newer, 'upload-config', 'all');
  const server = (machine: Machine, { apiServer }: KubernetesRelease) => ({
    url: `https://${machine.address}:${serverPort}`,
    binary: () => apiServer,
  });
  let gone: ExclusiveResource | undefined;
  for (const machine of machines) {
    if (machine === last && gone !== undefined) for (const each of loads) await each.leave(gone);
    const upgrade = async () => {
      const flags = isBeside ? [] : [`--patches=${patches}`];
      await cluster.kubeadm(machine, newer, 'upgrade', 'node', 'phase', 'control-plane', ...flags);
      await cluster.untilReady(machine, serverPort);
    };
    await timed(`upgraded on ${machine.name}`, load, upgrade, tell);
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
  await onEach(cluster, load, newer, undone, { port: 6443, without: !isBeside }, tell);
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

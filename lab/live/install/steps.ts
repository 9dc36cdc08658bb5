import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { agreementOf, differencesBetween } from '../../../src/cli/status/routers-view.ts';
import { parseRouterStatus } from '../../../src/own-paths/status/status-schema.ts';
import { postObject, type TlsCredentials, tlsRequest } from '../../../test/support/clients/tls-request.ts';
import { eventually } from '../../../test/support/eventually.ts';
import {
  collectionPath,
  type ExclusiveResource,
  exclusiveResource,
  manifestOf,
} from '../loops/exclusive-resources.ts';
import { startLoop } from '../loops/loop.ts';
import { type ObjectWriter, startObjectWriter } from '../loops/object-writer.ts';
import { describeReads, type ReadCounts, type ReadLoop, startReadLoop } from '../loops/read-loop.ts';
import { describeWatch, lostOf, startWatchFollower, type WatchFollower } from '../loops/watch-follower.ts';
import type { InstallAssets, KubernetesRelease } from './install-assets.ts';
import { image, installedFiles, type KubeadmCluster } from './kubeadm-cluster.ts';
import type { Machine } from './machine.ts';

const configMap = { apiVersion: 'v1', kind: 'ConfigMap', spec: {} };
const fixed = 'read-all-the-time';

/** Clients at work on a cluster: they read, write and watch by each of these addresses. */
interface Load {
  /** Makes an object of this resource, and reads it all the time from now on. */
  read(resource: ExclusiveResource, origin: string): Promise<void>;
  /** Stops reading it: it is about to go, and rightly so. */
  leave(resource: ExclusiveResource): Promise<void>;
  /** Outcomes of the reads so far. */
  tally(): Readonly<ReadCounts>;
  /** Ends it. @returns what happened, a line each, and what is wrong of it */
  stop(): Promise<{ readonly lines: readonly string[]; readonly faults: readonly string[] }>;
}

/**
 * @param origins by the name that they are reported under; the first one is written to as well
 * @param scope namespace of what is read and written; it is made
 */
async function startLoad(
  origins: Readonly<Record<string, string>>,
  admin: TlsCredentials,
  scope: string,
): Promise<Load> {
  const configMaps = `/api/v1/namespaces/${scope}/configmaps`;
  const [[, first] = ['', '']] = Object.entries(origins);
  const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: scope } };
  await create(first, '/api/v1/namespaces', namespace, admin);
  const paths = new Set([`${configMaps}/${fixed}`]);
  await create(first, configMaps, { ...configMap, metadata: { name: fixed } }, admin);
  const collection = { path: configMaps, object: configMap };
  const reads = new Map<string, ReadLoop>();
  for (const [name, origin] of Object.entries(origins)) {
    reads.set(
      name,
      startReadLoop(origin, () => [...paths], admin),
    );
  }
  const watch: WatchFollower = await startWatchFollower(first, collection, admin);
  const writer: ObjectWriter = startObjectWriter(first, collection, admin);
  return {
    async read(resource, origin) {
      const path = collectionPath(resource, scope);
      await create(origin, path, JSON.parse(manifestOf(resource, fixed)), admin);
      paths.add(`${path}/${fixed}`);
    },
    async leave(resource) {
      paths.delete(`${collectionPath(resource, scope)}/${fixed}`);
      await Promise.all([...reads.values()].map((loop) => loop.nextTurn()));
    },
    tally() {
      const sum = { ok: 0, notFound: 0, forbidden: 0, refused: 0, broken: 0 };
      for (const { counts } of reads.values()) {
        for (const key of Object.keys(sum) as (keyof ReadCounts)[]) sum[key] += counts[key];
      }
      return sum;
    },
    async stop() {
      await writer.stop();
      await Promise.all([...reads.values()].map((loop) => loop.stop()));
      for (let waited = 0; lostOf(watch, writer.written).length > 0 && waited < 50; waited++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await watch.stop();
      const lost = lostOf(watch, writer.written);
      const faults = [...reads].flatMap(([name, loop]) => {
        const { ok: _, ...wrong } = loop.counts;
        return Object.values(wrong).some((count) => count > 0) ? [`${name}: ${describeReads(loop)}`] : [];
      });
      return {
        lines: [
          ...[...reads].map(([name, loop]) => `reads, ${name}: ${describeReads(loop)}`),
          `written: ${writer.written.length} objects, ${writer.retries()} attempts made again`,
          `watch: ${describeWatch(watch)}; events that never came: ${lost.length}`,
        ],
        faults: [
          ...faults,
          ...(lost.length > 0 ? [`events that never came: ${lost.length}`] : []),
          ...(watch.counts.notFound > 0 ? [`watches that were a 404: ${watch.counts.notFound}`] : []),
        ],
      };
    },
  };
}

async function create(origin: string, path: string, object: object, admin: TlsCredentials): Promise<void> {
  const { statusCode, text } = await postObject(`${origin}${path}`, object, admin);
  assert.ok(statusCode === 201 || statusCode === 409, `${path}: ${statusCode} ${text}`);
}

/** Milliseconds between two looks. */
const interval = 500;
const path = '/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes';

/** Addresses that the Service `default/kubernetes` led pods to, over time. */
interface ServiceEndpoints {
  /** @returns each state that it had, in order: where it led to, for how many looks, and how often nobody listened */
  stop(): Promise<readonly string[]>;
}

/** Looks again and again, and connects to each address as a pod would. */
function followServiceEndpoints(origin: string, credentials: TlsCredentials): ServiceEndpoints {
  const states: { readonly places: string; looks: number; tried: number; refused: number }[] = [];

  async function look(): Promise<void> {
    const { statusCode, text } = await tlsRequest(`${origin}${path}`, credentials);
    if (statusCode !== 200) return;
    const slice = JSON.parse(text) as {
      readonly endpoints: readonly { readonly addresses: readonly string[] }[] | null;
      readonly ports: readonly { readonly port: number }[];
    };
    const hosts = (slice.endpoints ?? []).flatMap(({ addresses }) => addresses).sort();
    const ports = slice.ports.map(({ port }) => port);
    const places = `${ports.join(',')} of ${hosts.join(', ')}`;
    let state = states.at(-1);
    if (state?.places !== places) {
      state = { places, looks: 0, tried: 0, refused: 0 };
      states.push(state);
    }
    state.looks++;
    for (const host of hosts) {
      for (const port of ports) {
        state.tried++;
        if (!(await isOpen(host, port))) state.refused++;
      }
    }
  }

  const loop = startLoop(interval, () => look().catch(() => {}));
  return {
    async stop() {
      await loop.stop();
      return states.map(
        ({ places, looks, tried, refused }) => `${places}: ${looks} looks, ${refused} of ${tried} refused`,
      );
    },
  };
}

function isOpen(host: string, port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port, timeout: 2000 });
    const end = (is: boolean) => () => {
      socket.destroy();
      resolve(is);
    };
    socket.once('connect', end(true)).once('error', end(false)).once('timeout', end(false));
  });
}

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
  return Promise.all(machines.map(installedFiles));
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

/** Waits until every connection of a controller manager or a scheduler to an API leads to the router of its node. */
async function componentsComeBy({ machines }: KubeadmCluster, port: number, tell: Tell): Promise<void> {
  let told = '';
  await eventually(async () => {
    const connections = await Promise.all(
      machines.map(async (machine) => {
        const { output } = await machine.run(
          '',
          'ss',
          '-Htnp',
          'state',
          'established',
          '( dport >= 6443 and dport <= 7443 )',
        );
        return output.split('\n').filter((line) => /kube-(?:controller|schedule)/.test(line));
      }),
    );
    told = connections.flat().join('\n');
    return connections.every(
      (lines) => lines.length > 0 && lines.every((line) => line.includes(`:${port} `)),
    );
  }).catch((cause: unknown) => {
    throw new Error(`components go past the router:\n${told}`, { cause });
  });
  await tell(
    `components come by the routers: ${told.split('\n').length} connections to ${port}, none elsewhere`,
  );
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
  for (const machine of machines) {
    const lead = () => command(cluster, machine, older, '--components');
    await timed(`components led through the router on ${machine.name}`, load, lead, tell);
  }
  await componentsComeBy(cluster, routerPort, tell);

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
  await componentsComeBy(cluster, routerPort, tell);
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

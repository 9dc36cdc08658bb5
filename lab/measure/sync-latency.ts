/**
 * How long a change in the cluster takes until every router decides by it: an example API server turns a group
 * version on or off, is shut down, comes back. Three servers of three versions with a router each, the sync job as
 * `mixed-version-proxy sync` runs it, all on loopback in this process. Run it on Node 26: `npm run lab -- sync`.
 *
 *     --changes N        how many changes (default 50)
 *     --source listed    the sync job is told the servers by hand (default: it finds them, from a kubeconfig)
 *
 * Then how long a router that was restarted with nothing waits for its snapshot. Exits 1 when p99 of the changes is
 * not under two seconds, that of the restarts not under one, or anything does not arrive within thirty.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExampleApiServer, KubernetesVersionName } from '../../demo/example-api-server/index.ts';
import type { RunningRouter } from '../../src/node/configuration/serve-config.ts';
import { runSync, type SyncOptions } from '../../src/sync/node/index.ts';
import { type OwnPathsClient, ownPathsClient } from '../../test/support/clients/own-paths-client.ts';
import { createEmbeddedCluster, type EmbeddedCluster } from '../../test/support/clusters/embedded-cluster.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { readOptions } from '../harness/command-line.ts';
import { median, quantile } from '../harness/statistics.ts';

const changeBound = 2_000;
const restartBound = 1_000;
const restarts = 10;
const giveUpAfter = 30_000;
const pollInterval = 5;
const versions: readonly KubernetesVersionName[] = ['1.25', '1.26', '1.36'];

/** Served by one server alone, so that every router decides otherwise once it is gone. */
const onlyOn1_25 = {
  groupVersion: 'autoscaling/v2beta2',
  url: '/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers',
};

/** Something that happens in the cluster, and how a router shows that it decides by it. */
interface Change {
  readonly name: string;
  make(): Promise<void>;
  isDecidedBy(router: OwnPathsClient): Promise<boolean>;
}

const values = readOptions('sync', {
  changes: { type: 'string', default: '50', value: 'N', about: 'how many' },
  source: {
    type: 'string',
    default: 'kubeconfig',
    value: 'NAME',
    about: 'kubeconfig: the sync job finds the servers; listed: the job is told them',
  },
});
const count = Number(values.changes);
const cluster = await createEmbeddedCluster();
const stop = new AbortController();
try {
  await measure();
} finally {
  stop.abort();
  await cluster.close();
}

async function measure(): Promise<void> {
  const servers = new Map<KubernetesVersionName, ExampleApiServer>();
  const routers: RunningRouter[] = [];
  for (const version of versions) {
    const server = await cluster.startServer({ version, name: `control-plane-${version}` });
    servers.set(version, server);
    routers.push(await cluster.startRouter(server));
  }
  const clients = routers.map(({ origin }) => ownPathsClient(origin, cluster.credentials));
  const syncing = runSync(await syncOptions([...servers.values()], routers), stop.signal);
  for (const client of clients) await until(async () => (await client.status()).snapshot !== null);

  const milliseconds = new Map<string, number[]>();
  for (let index = 0; index < count; index++) {
    const change = nextChange(index, servers, cluster);
    const begun = performance.now();
    await change.make();
    await Promise.all(clients.map((client) => until(() => change.isDecidedBy(client))));
    const taken = performance.now() - begun;
    milliseconds.set(change.name, [...(milliseconds.get(change.name) ?? []), taken]);
    // So that changes fall anywhere in the sync job's round.
    await sleep(Math.random() * 1000);
  }
  const [, , newest] = servers.values();
  const [, , router] = routers;
  const [, , client] = clients;
  if (newest === undefined || router === undefined || client === undefined)
    throw new TypeError('there are three');
  const served = await restartRouter(newest, router, client);
  for (const each of clients) await each.close();
  stop.abort();
  await syncing;
  print(milliseconds, served);
}

/** @returns milliseconds from the moment a router listens again until it has the snapshot, of each restart */
async function restartRouter(
  apiServer: ExampleApiServer,
  router: RunningRouter,
  client: OwnPathsClient,
): Promise<number[]> {
  const taken: number[] = [];
  const { port } = new URL(router.origin);
  for (let running = router; taken.length < restarts; ) {
    await running.close();
    // From a restart that is over at once to one that takes a while.
    await sleep(Math.random() * 3000);
    running = await cluster.startRouter(apiServer, { 'secure-port': [port] });
    const begun = performance.now();
    await until(async () => (await client.status()).snapshot !== null);
    taken.push(performance.now() - begun);
  }
  return taken;
}

async function syncOptions(
  servers: readonly ExampleApiServer[],
  routers: readonly RunningRouter[],
): Promise<SyncOptions> {
  const { certificateAuthorities, clientCertificate, signingKey } = cluster.credentials;
  const [, , newest] = servers;
  if (newest === undefined) throw new TypeError('there are three servers');
  const common = {
    certificateAuthorities,
    clientCertificate,
    signingKey,
    routers: routers.map(({ origin }) => ({ url: origin })),
  };
  return values.source === 'listed'
    ? { ...common, servers: servers.map(({ serverId, url }) => ({ id: serverId, url })) }
    : {
        ...common,
        servers: [],
        peers: { allowLoopback: true },
        kubernetes: { kubeconfig: await cluster.kubeconfig(newest) },
      };
}

/** In turn: a group version goes and comes back; a server goes and comes back. */
function nextChange(
  index: number,
  servers: Map<KubernetesVersionName, ExampleApiServer>,
  { startServer }: EmbeddedCluster,
): Change {
  const older = servers.get('1.25');
  const middle = servers.get('1.26');
  if (older === undefined || middle === undefined) throw new TypeError('there are three servers');
  const isServed = async (router: OwnPathsClient) =>
    (await router.explain(onlyOn1_25.url)).reason !== 'NotServedByAnyServer';
  const isUp = async (router: OwnPathsClient) =>
    (await router.status()).servers.some(({ id, stale }) => id === middle.serverId && !stale);
  const { version, port } = middle;
  const changes: readonly Change[] = [
    {
      name: 'group version gone',
      make: async () => older.setGroupVersion(onlyOn1_25.groupVersion, false),
      isDecidedBy: async (router) => !(await isServed(router)),
    },
    {
      name: 'group version new',
      make: async () => older.setGroupVersion(onlyOn1_25.groupVersion, true),
      isDecidedBy: isServed,
    },
    {
      name: 'server gone',
      make: () => middle.close(),
      isDecidedBy: async (router) => !(await isUp(router)),
    },
    {
      name: 'server back',
      async make() {
        servers.set('1.26', await startServer({ version, name: `control-plane-${version}`, port }));
      },
      isDecidedBy: isUp,
    },
  ];
  const change = changes[index % changes.length];
  if (change === undefined) throw new TypeError('there are changes');
  return change;
}

function until(condition: () => Promise<boolean>): Promise<void> {
  return waitUntil('a router decides by it', condition, { within: giveUpAfter, every: pollInterval });
}

function print(changes: ReadonlyMap<string, readonly number[]>, served: readonly number[]): void {
  console.log(`${count} changes, ${versions.length} routers; ms until all routers decide by it`);
  console.log(`${''.padEnd(20)}     n     p50     p99     max`);
  for (const [name, taken] of changes) console.log(line(name, taken));
  const all = [...changes.values()].flat();
  console.log(line('all', all));
  console.log(line('router restarted', served));
  for (const [what, taken, bound] of [
    ['changes', all, changeBound],
    ['restarts', served, restartBound],
  ] as const) {
    if (p99Of(taken) < bound) continue;
    console.error(`missed: p99 of the ${what} is not under ${bound} ms`);
    process.exitCode = 1;
  }
}

function line(name: string, taken: readonly number[]): string {
  const figures = [taken.length, median(taken), p99Of(taken), Math.max(...taken)];
  const [n = 0, ...rest] = figures;
  return `${name.padEnd(20)}${String(n).padStart(6)}${rest.map((value) => value.toFixed(0).padStart(8)).join('')}`;
}

function p99Of(taken: readonly number[]): number {
  return quantile(
    taken.toSorted((left, right) => left - right),
    0.99,
  );
}

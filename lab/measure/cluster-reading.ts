/**
 * Costs for real kube-apiservers, and for a router, when routers read the cluster themselves: three servers of two
 * versions and nothing else that asks them, then a sync job, then 3 and 30 routers. Everything but the first line is
 * the difference to idle servers. `npm run lab -- reading`, with binaries as for the live suite. `--seconds 60`: how
 * long each step is looked at.
 */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { tlsRequest } from '../../test/support/clients/tls-request.ts';
import { commandModule } from '../../test/support/commands/command.ts';
import { readOptions } from '../harness/command-line.ts';
import { usageOf } from '../harness/process-usage.ts';
import { assetsOfEnvironment, type LiveAssets, liveAssetsGuide } from '../live/cluster/assets.ts';
import { type ControlPlane, startControlPlane } from '../live/cluster/control-plane.ts';
import { type LoggedProcess, startLoggedProcess } from '../live/cluster/logged-process.ts';
import { inOwnNetwork } from '../live/cluster/network.ts';
import {
  type ClusterReading,
  type LiveRouter,
  readingFlags,
  readingOf,
  startSidecar,
  untilReady,
} from '../live/cluster/routers.ts';
import { startSyncJob } from '../live/cluster/sync-job.ts';
import { allowSyncJob } from '../live/cluster/sync-rights.ts';
import { markdownTable } from '../report/text-table.ts';

const values = readOptions('reading', {
  seconds: { type: 'string', default: '60', value: 'N', about: 'how long each row is measured' },
});
const seconds = Number(values.seconds);
/** After a start: the first readings, and what V8 does behind them. */
const settling = 15_000;
const processGrace = 5_000;

const headings = [
  '',
  'requests/s',
  'KB/s',
  'CPU of the servers, ms/s',
  'CPU of the process, ms/s',
  'memory of the process, MiB',
];

// Each process that is started listens for the end of this one.
process.setMaxListeners(0);

const found = assetsOfEnvironment();
if (found.ok) await inOwnNetwork(found.assets.apiServers, () => measure(found.assets));
else {
  process.stderr.write(`${found.problems.join('\n')}\n\n${liveAssetsGuide}\n`);
  process.exitCode = 2;
}

async function measure({ etcd, apiServers }: LiveAssets): Promise<void> {
  const [oldest] = apiServers;
  const newest = apiServers.at(-1) ?? oldest;
  const plane = await startControlPlane(etcd, [oldest, oldest, newest]);
  try {
    const [server] = plane.servers;
    if (server === undefined) throw new TypeError('there are three servers');
    await allowSyncJob(server.url, plane.admin);
    const reading = await readingOf(plane, server.url);
    await sleep(settling);
    const idle = await look(plane);
    const rows = [headings, row('idle servers', undefined, idle)];
    const add = (name: string, now: Look) => {
      rows.push(row(name, idle, now));
      console.error(rows.at(-1)?.join(' | '));
    };
    add('a sync job, to a file', await withSyncJob(plane, reading));
    add('a sync job and 3 routers', await withPushes(plane, reading));
    const routers: LiveRouter[] = [];
    for (const count of [3, 30]) {
      while (routers.length < count) routers.push(await start(plane, routers.length, readingFlags(reading)));
      await untilReady(routers, plane.admin);
      await sleep(settling);
      add(`${count} routers that read`, await look(plane, routers[0]?.process));
    }
    console.log(markdownTable(rows));
  } finally {
    await plane.close();
  }
}

async function start(
  plane: ControlPlane,
  index: number,
  flags: Readonly<Record<string, readonly string[]>>,
): Promise<LiveRouter> {
  const { certificates, directory, servers, snapshotKeys } = plane;
  const server = servers[index % servers.length];
  if (server === undefined) throw new TypeError('there are three servers');
  const name = `router-${index}-${flags['kubeconfig'] === undefined ? 'pushed' : 'reading'}`;
  const router = await startSidecar(server, { certificates, snapshotKeys, directory, flags, name });
  plane.endWith(() => router.process.stop(processGrace));
  return router;
}

/** CPU and memory of the sync job itself are in the last columns. */
async function withSyncJob({ path, ...plane }: ControlPlane, reading: ClusterReading): Promise<Look> {
  const job = await startLoggedProcess({
    name: 'sync job',
    command: process.execPath,
    args: [
      commandModule,
      'sync',
      `--kubeconfig=${reading.kubeconfig}`,
      '--allow-loopback-peers',
      `--out=${path('measured-snapshot.json')}`,
      '--unsigned',
      '--health-port=0',
    ],
    logFile: path('measured-sync.log'),
  });
  await sleep(settling);
  const found = await look(plane, job);
  await job.stop(processGrace);
  return found;
}

async function withPushes(plane: ControlPlane, reading: ClusterReading): Promise<Look> {
  const routers: LiveRouter[] = [];
  for (const index of [0, 1, 2]) routers.push(await start(plane, index, {}));
  const job = await startSyncJob({ ...plane, ...reading, routers });
  await untilReady(routers, plane.admin);
  await sleep(settling);
  const found = await look(plane, routers[0]?.process);
  await Promise.all([job, ...routers.map(({ process }) => process)].map((each) => each.stop(processGrace)));
  return found;
}

/** Rates, each a second. */
interface Look {
  readonly requests: number;
  readonly bytes: number;
  /** CPU seconds of the servers. */
  readonly cpu: number;
  readonly process: { readonly cpu: number; readonly resident: number } | undefined;
}

async function look(plane: Pick<ControlPlane, 'servers' | 'admin'>, looked?: LoggedProcess): Promise<Look> {
  const begun = await countersOf(plane);
  const before = looked && (await usageOf(looked.pid));
  await sleep(seconds * 1000);
  const ended = await countersOf(plane);
  const used = looked && (await usageOf(looked.pid));
  const passed = (ended.at - begun.at) / 1000;
  return {
    requests: (ended.requests - begun.requests) / passed,
    bytes: (ended.bytes - begun.bytes) / passed,
    cpu: (ended.cpu - begun.cpu) / passed,
    process: before &&
      used && { cpu: (used.cpuTime - before.cpuTime) / 1e6 / passed, resident: used.resident },
  };
}

/** Sums over the API servers since their start, and of this network since its own. */
async function countersOf({ servers, admin }: Pick<ControlPlane, 'servers' | 'admin'>) {
  const texts = await Promise.all(
    servers.map(async ({ url }) => (await tlsRequest(`${url}/metrics`, admin)).text),
  );
  const sum = (name: string) =>
    texts
      .flatMap((text) => [...text.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, 'gm'))])
      .reduce((total, [, value]) => total + Number(value), 0);
  // Everything here is on loopback; /sys would show the network that it was mounted in.
  const network = /^\s*lo:\s*(\d+)/m.exec(await readFile('/proc/self/net/dev', 'utf8'));
  return {
    at: performance.now(),
    requests: sum('apiserver_request_total'),
    cpu: sum('process_cpu_seconds_total'),
    bytes: Number(network?.[1]),
  };
}

function row(name: string, idle: Look | undefined, { requests, bytes, cpu, process: own }: Look): string[] {
  return [
    name,
    (requests - (idle?.requests ?? 0)).toFixed(1),
    ((bytes - (idle?.bytes ?? 0)) / 1000).toFixed(0),
    ((cpu - (idle?.cpu ?? 0)) * 1000).toFixed(0),
    ...(own === undefined ? ['', ''] : [(own.cpu * 1000).toFixed(1), (own.resident / 1024).toFixed(0)]),
  ];
}

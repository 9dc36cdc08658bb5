/**
 * Memory and sockets of a router over time: `npm run lab -- soak`. Thousands of watches that end at their time-out and are begun
 * again, clients that vanish, clients that do not read, and a server that changes its version again and again. Ends with 1
 * where something goes on growing after the warm-up, or a watch has not seen an event. Linux only.
 */
import { readFile } from 'node:fs/promises';
import { type ClientHttp2Session, connect } from 'node:http2';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { serveFlags } from '../../demo/routers.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { createEmbeddedCluster, type EmbeddedCluster } from '../../test/support/clusters/embedded-cluster.ts';
import { startChild } from '../../test/support/commands/child-process.ts';
import { flagArguments } from '../../test/support/commands/command.ts';
import { freePort } from '../../test/support/free-port.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { countFrom, runExperiment } from '../harness/command-line.ts';
import { packagedServe } from '../harness/packaged-command.ts';
import { socketsOf, usageOf } from '../harness/process-usage.ts';
import { markdownTable } from '../report/text-table.ts';

const path = '/api/v1/namespaces/default/configmaps';
const watchesOfOneConnection = 50;
/** Clients of each kind that behave badly. */
const restless = 20;
/** Milliseconds. */
const every = { sample: 5_000, write: 8_000, version: 30_000 };
/** Share of the run in which connections, code caches and heaps grow to their size, and how much may come after it. */
const [warmUp, allowedGrowth] = [0.3, 0.05];

type Figure = 'MiB resident' | 'MiB of heap alive' | 'sockets';
type Sample = Readonly<Record<Figure, number>>;

await runExperiment(
  'soak',
  {
    minutes: { type: 'string', default: '20', value: 'N', about: 'how long' },
    watches: { type: 'string', default: '2000', value: 'N', about: 'how many are open' },
  },
  async ({ minutes, watches }) => {
    const cluster = await createEmbeddedCluster();
    try {
      return await soak(cluster, countFrom('minutes', minutes), countFrom('watches', watches));
    } finally {
      await cluster.close();
    }
  },
);

async function soak(cluster: EmbeddedCluster, minutes: number, watches: number): Promise<number> {
  const local = await cluster.startServer({ version: '1.36', name: 'cp-a' });
  let other = await cluster.startServer({ version: '1.25', name: 'cp-b' });
  const port = await freePort();
  const origin = `https://127.0.0.1:${port}`;
  const logFile = join(cluster.directory, 'router.log');
  const { certificates, keyFiles } = cluster;
  const flags = serveFlags({
    ...{ apiServer: local, certificates, snapshotKeys: keyFiles.publicKeys, snapshotFile: '' },
    logger: silentLogger,
  });
  const reading = { 'snapshot-keys': undefined, kubeconfig: [await cluster.kubeconfig(local)] };
  const given = { ...flags, 'snapshot-file': undefined, 'secure-port': [String(port)], ...reading };
  const serve = await packagedServe(join(import.meta.dirname, '..', '..'));
  const router = await startChild({
    executable: process.execPath,
    arguments: ['--inspect=0', ...serve, ...flagArguments(given)],
    logFile,
  });
  const end = new AbortController();
  try {
    const [ca, cert, key] = await Promise.all(
      [certificates.clusterCa, certificates.admin.certificate, certificates.admin.privateKey].map((file) =>
        readFile(file, 'utf8'),
      ),
    );
    const open = () => connect(origin, { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) });
    await waitUntil('the router is ready', async () => (await readyz(open())) === 200);
    const followed = Array.from({ length: watches }, () => new Set<string>());
    for (let first = 0; first < watches; first += watchesOfOneConnection) {
      const session = open().on('error', () => {});
      for (const seen of followed.slice(first, first + watchesOfOneConnection)) {
        void follow(session, seen, cluster, end.signal);
      }
      await sleep(200);
    }
    for (let index = 0; index < restless; index++) {
      void vanish(open, end.signal);
      neverRead(open());
    }
    const written: string[] = [];
    const write = setInterval(() => {
      const name = `written-${written.length}`;
      written.push(name);
      cluster.store.create(
        { group: '', resource: 'configmaps' },
        { metadata: { name, namespace: 'default' } },
      );
    }, every.write);
    let turn = 0;
    const change = setInterval(async () => {
      const [version, again] = [
        turn++ % 2 === 0 ? '1.26' : '1.25',
        { name: 'cp-b', port: other.port },
      ] as const;
      await other.close();
      other = await cluster.startServer({ version, ...again });
    }, every.version);
    const samples = await sampled(router.pid, logFile, minutes);
    clearInterval(write);
    clearInterval(change);
    const lost = () => followed.filter((seen) => written.some((name) => !seen.has(name))).length;
    await waitUntil('every watch has seen every event', () => lost() === 0, { within: 20_000 }).catch(
      () => {},
    );
    return report(samples, written.length, lost());
  } finally {
    end.abort();
    await router.stop();
  }
}

function neverRead(session: ClientHttp2Session): void {
  session.on('error', () => {});
  session
    .request({ ':path': `${path}?watch=true` })
    .on('error', () => {})
    .pause();
}

async function sampled(pid: number, logFile: string, minutes: number): Promise<Sample[]> {
  const samples: Sample[] = [];
  for (const until = Date.now() + minutes * 60_000; Date.now() < until; ) {
    await sleep(every.sample);
    const { resident } = await usageOf(pid);
    const heap = await liveHeap(logFile);
    const sockets = await socketsOf(pid);
    samples.push({ 'MiB resident': resident / 1024, 'MiB of heap alive': heap / 2 ** 20, sockets });
  }
  return samples;
}

/** @returns the exit code */
function report(samples: readonly Sample[], events: number, lost: number): number {
  const trends = (['MiB resident', 'MiB of heap alive', 'sockets'] as const).map((figure) => {
    const counted = samples.slice(Math.floor(samples.length * warmUp)).map((sample) => sample[figure]);
    return { figure, ...trendOf(counted) };
  });
  const rows = trends.map(({ figure, mean, growth }) => [
    figure,
    mean.toFixed(1),
    `${(growth * 100).toFixed(1)} %`,
  ]);
  console.log(markdownTable([['', 'mean after the warm-up', 'growth after it'], ...rows]));
  console.log(`${events} events to every watch, ${lost} watches that have not seen all of them`);
  return lost > 0 || trends.some(({ growth }) => growth > allowedGrowth) ? 1 : 0;
}

/** Growth by the line that fits best (least squares), as a share of the mean. */
function trendOf(values: readonly number[]): { readonly mean: number; readonly growth: number } {
  const average = (numbers: readonly number[]) =>
    numbers.reduce((sum, each) => sum + each, 0) / Math.max(numbers.length, 1);
  const [mean, middle] = [average(values), (values.length - 1) / 2];
  const above = values.reduce((sum, value, at) => sum + (at - middle) * (value - mean), 0);
  const below = values.reduce((sum, _, at) => sum + (at - middle) ** 2, 0);
  return { mean, growth: below === 0 || mean === 0 ? 0 : ((above / below) * values.length) / mean };
}

function readyz(session: ClientHttp2Session): Promise<number> {
  return new Promise((resolve, reject) => {
    session.once('error', reject);
    const stream = session.request({ ':path': '/readyz' }).resume();
    stream.once('error', reject).once('response', (head) => resolve(Number(head[':status'])));
    stream.once('close', () => session.close());
  });
}

/** One watch after the other, each on from where the one before ended. */
async function follow(
  session: ClientHttp2Session,
  seen: Set<string>,
  { store }: EmbeddedCluster,
  signal: AbortSignal,
): Promise<void> {
  let version = String(store.revision);
  while (!signal.aborted) {
    const timeout = 120 + Math.floor(Math.random() * 180);
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${version}&timeoutSeconds=${timeout}`;
    const stream = session.request({ ':path': `${path}?${query}` }, { signal }).on('error', () => {});
    try {
      for await (const line of createInterface({ input: stream })) {
        const { metadata } = JSON.parse(line).object;
        version = metadata.resourceVersion ?? version;
        seen.add(metadata.name);
      }
    } catch {
      // The watch broke off: the next one shows the rest.
    }
    await sleep(100);
  }
}

/** Opens a watch, drops its connection after some seconds without a word, and comes back. */
async function vanish(open: () => ClientHttp2Session, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const session = open().on('error', () => {});
    session
      .request({ ':path': `${path}?watch=true` })
      .on('error', () => {})
      .resume();
    await sleep(1_000 + Math.random() * 4_000);
    session.destroy();
  }
}

/** Bytes that are left of a process's heap once its garbage is collected, by its inspector (Chrome DevTools Protocol). */
async function liveHeap(logFile: string): Promise<number> {
  const address = /^Debugger listening on (ws:\S+)$/m.exec(await readFile(logFile, 'utf8'))?.[1];
  const socket = new WebSocket(address ?? '');
  const ask = (method: string) =>
    new Promise<{ usedSize: number }>((resolve, reject) => {
      socket.onerror = () => reject(new Error(`the inspector did not answer ${method}`));
      socket.onmessage = ({ data }) => {
        const { id, result } = JSON.parse(String(data));
        if (id === 1) resolve(result);
      };
      const send = () => socket.send(JSON.stringify({ id: 1, method }));
      if (socket.readyState === WebSocket.OPEN) send();
      else socket.onopen = send;
    });
  try {
    await ask('HeapProfiler.collectGarbage');
    return (await ask('Runtime.getHeapUsage')).usedSize;
  } finally {
    socket.close();
  }
}

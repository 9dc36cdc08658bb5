/**
 * Effects on clients of a running router while large snapshots arrive: `serve` is pushed one a second, each with
 * another set of one server, and another client asks for an object fifty times a second meanwhile and before. Prints
 * the longest turn of the router's event loop (its CPU time, and its delay by `perf_hooks`), that client's latency, and
 * the router's memory. Linux only. `npm run lab -- arriving`, or with `--servers 200 --resources 5000 --seconds 30`.
 */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createSecureServer } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, request } from 'undici';
import { serveFlags } from '../../demo/routers.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import type { Snapshot } from '../../src/snapshot/format/schema.ts';
import { signingKeyOf } from '../../src/snapshot/signing/seal.ts';
import { type Delivery, sealDelivery } from '../../src/sync/deliver.ts';
import { readServer } from '../../src/sync/documents/read-server.ts';
import type { ServerDocuments } from '../../src/sync/documents/server-documents.ts';
import { HttpsTarget } from '../../src/sync/node/targets.ts';
import { createEmbeddedCluster } from '../../test/support/clusters/embedded-cluster.ts';
import { startChild } from '../../test/support/commands/child-process.ts';
import { flagArguments } from '../../test/support/commands/command.ts';
import { freePort } from '../../test/support/free-port.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { readOptions } from '../harness/command-line.ts';
import { packagedServe } from '../harness/packaged-command.ts';
import { usageOf } from '../harness/process-usage.ts';
import { markdownTable } from '../report/text-table.ts';
import { largeCluster } from './large-cluster.ts';

const values = readOptions('arriving', {
  servers: { type: 'string', default: '200', value: 'N', about: 'how many' },
  resources: { type: 'string', default: '5000', value: 'N', about: 'of each' },
  seconds: { type: 'string', default: '20', value: 'N', about: 'how long' },
});
const [servers, resources, seconds] = [values.servers, values.resources, values.seconds].map(Number) as [
  number,
  number,
  number,
];
/** An API server of a large cluster, at every address of loopback. */
async function startServer(documentsNow: () => ServerDocuments) {
  const [cert, key] = await Promise.all([
    readFile(cluster.certificates.apiServer.certificate),
    readFile(cluster.certificates.apiServer.privateKey),
  ]);
  const server = createSecureServer({ cert, key, allowHTTP1: true }, async ({ url }, response) => {
    const document = await documentsNow().get(url, '', undefined);
    response.writeHead(document.status, { 'content-type': document.contentType });
    response.end(document.body);
  });
  server.listen(0);
  await once(server, 'listening');
  return { server, port: (server.address() as AddressInfo).port };
}

const serve = await packagedServe(join(import.meta.dirname, '..', '..'));
const localId = 'server-0';
/** The target of the other client. */
const path = '/api/v1/namespaces';
/** After a start, milliseconds. */
const settling = 5_000;
/** Milliseconds between two requests of the other client. */
const pace = 20;
/** Prints a line a second: the longest turn, in CPU time of its thread, and the longest delay; milliseconds. */
const turns = `
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { writeSync } from 'node:fs';
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
let longest = 0;
let last = process.threadCpuUsage();
const turn = () => {
  const { user, system } = process.threadCpuUsage(last);
  longest = Math.max(longest, (user + system) / 1000);
  last = process.threadCpuUsage();
};
setInterval(turn, 1).unref();
setInterval(() => {
  writeSync(1, 'turns ' + longest + ' ' + delay.max / 1e6 + '\\n');
  longest = 0;
  delay.reset();
}, 1000).unref();
`;

const cluster = await createEmbeddedCluster();
const { certificateAuthorities, clientCertificate, signingKey } = cluster.credentials;
const { certificate, key } = clientCertificate;
const agent = new Agent({
  allowH2: false,
  connect: { ca: certificateAuthorities, cert: certificate, key },
});
try {
  await measure();
} finally {
  await agent.destroy();
  await cluster.close();
}

/** The API servers of the cluster: three stand for all of them. */
async function startServers() {
  const large = largeCluster(resources);
  let own = large.documentsOf(1);
  const [newer, older] = [large.documentsOf(1), large.documentsOf(0)];
  const [local, newerServer, olderServer] = await Promise.all([
    startServer(() => own),
    startServer(() => newer),
    startServer(() => older),
  ]);
  const [readNewer, readOlder] = await Promise.all([readServer(newer), readServer(older)]);
  const readings = new Map([[localId, readNewer]]);
  const addresses = new Map([[localId, `127.0.0.1:${local.port}`]]);
  for (let index = 1; index < servers; index++) {
    const isOlder = index % 2 === 1;
    readings.set(`server-${index}`, isOlder ? readOlder : readNewer);
    const { port } = isOlder ? olderServer : newerServer;
    addresses.set(`server-${index}`, `127.0.${index >> 8}.${(index & 255) + 1}:${port}`);
  }
  let version = 2;
  let snapshot: Snapshot | undefined;
  return {
    localUrl: `https://127.0.0.1:${local.port}`,
    /** The snapshot after the one before. */
    next: async () => {
      snapshot = await large.build(readings, snapshot, addresses);
      return snapshot;
    },
    /** The local server serves another set from now on. */
    change: async () => {
      own = large.documentsOf(version++, 'v1.31.0');
      readings.set(localId, await readServer(own));
    },
    close: () => {
      for (const { server } of [local, newerServer, olderServer]) server.close();
    },
  };
}

/** The router, which tells its longest turn since `reset`. */
async function startRouter(localUrl: string, port: number) {
  const flags = {
    ...serveFlags({
      apiServer: { url: localUrl, serverId: localId },
      certificates: cluster.certificates,
      snapshotKeys: cluster.keyFiles.publicKeys,
      snapshotFile: '',
      logger: silentLogger,
    }),
    'snapshot-file': [join(cluster.directory, 'snapshot')],
    'secure-port': [String(port)],
  };
  const module = `data:text/javascript,${encodeURIComponent(turns)}`;
  const router = await startChild({
    executable: process.execPath,
    arguments: ['--import', module, ...serve, ...flagArguments(flags)],
  });
  let longest = { turn: 0, delay: 0 };
  router.onLine((line) => {
    const [word, turn, delay] = line.split(' ');
    if (word !== 'turns') return;
    longest = { turn: Math.max(longest.turn, Number(turn)), delay: Math.max(longest.delay, Number(delay)) };
  });
  return {
    pid: router.pid,
    stop: () => router.stop(),
    longest: () => longest,
    reset: () => {
      longest = { turn: 0, delay: 0 };
    },
  };
}

type MeasuredRouter = Awaited<ReturnType<typeof startRouter>>;

/** A row of what another client and the router meet while `work` is done once a second. */
async function look(
  name: string,
  router: MeasuredRouter,
  get: (path: string) => Promise<number>,
  work: () => Promise<unknown>,
): Promise<string[]> {
  router.reset();
  const latencies: number[] = [];
  const before = await usageOf(router.pid);
  let isOver = false;
  const asking = (async () => {
    while (!isOver) {
      const begun = performance.now();
      const status = await get(path);
      if (status !== 200) throw new Error(`response ${status}`);
      latencies.push(performance.now() - begun);
      await sleep(pace);
    }
  })();
  for (let second = 0; second < seconds; second++) await Promise.all([work(), sleep(1_000)]);
  isOver = true;
  await asking;
  const after = await usageOf(router.pid);
  latencies.sort((one, other) => one - other);
  const at = (part: number) => (latencies[Math.floor((latencies.length - 1) * part)] ?? 0).toFixed(1);
  const { turn, delay } = router.longest();
  return [
    name,
    turn.toFixed(1),
    delay.toFixed(1),
    at(0.5),
    at(0.99),
    at(1),
    ((after.cpuTime - before.cpuTime) / 1_000 / seconds).toFixed(0),
    (after.resident / 1024).toFixed(0),
  ];
}

async function measure(): Promise<void> {
  const apiServers = await startServers();
  const port = await freePort();
  const origin = `https://127.0.0.1:${port}`;
  const router = await startRouter(apiServers.localUrl, port);
  const credentials = async () => ({ certificateAuthorities, clientCertificate });
  const target = new HttpsTarget({ url: origin, credentials });
  const get = async (path: string) => {
    const { statusCode, body } = await request(`${origin}${path}`, { dispatcher: agent });
    await body.dump();
    return statusCode;
  };
  try {
    await waitUntil('the router lives', async () => (await get('/livez').catch(() => 0)) === 200);
    let delivery: Delivery | undefined;
    const push = async () => {
      delivery = await sealDelivery(await apiServers.next(), signingKeyOf(signingKey), delivery);
      const result = await target.put(delivery, new AbortController().signal);
      if (result.kind !== 'accepted')
        throw new Error(`the snapshot was not taken: ${JSON.stringify(result)}`);
    };
    await push();
    await waitUntil('the router knows every server', async () => (await get(path)) === 200);
    await sleep(settling);
    const rows = [
      ['', 'longest turn, ms', 'longest delay, ms', 'p50, ms', 'p99, ms', 'slowest, ms', 'CPU, ms/s', 'MiB'],
      await look('no snapshot', router, get, async () => {}),
      await look('one a second', router, get, async () => {
        await apiServers.change();
        await push();
      }),
      await look('afterwards', router, get, async () => {}),
    ];
    console.log(`${servers} servers × ${resources} resources\n${markdownTable(rows)}`);
  } finally {
    apiServers.close();
    target.close();
    await router.stop();
  }
}

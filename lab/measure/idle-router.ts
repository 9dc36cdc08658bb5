/**
 * Use of a router while no client is there: CPU time and memory of its process before 3 and 50 example API servers,
 * whether snapshots are pushed to it or it reads the cluster itself. Linux only. `npm run lab -- idle`, for the table
 * in docs/explanation/performance.md. `--seconds 60`: how long each is looked at, after half as long to settle.
 */
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExampleApiServer, KubernetesVersionName } from '../../demo/example-api-server/index.ts';
import { serveFlags } from '../../demo/routers.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { runSync } from '../../src/sync/node/index.ts';
import { ownPathsClient } from '../../test/support/clients/own-paths-client.ts';
import { createEmbeddedCluster, type EmbeddedCluster } from '../../test/support/clusters/embedded-cluster.ts';
import { startChild } from '../../test/support/commands/child-process.ts';
import { flagArguments } from '../../test/support/commands/command.ts';
import { freePort } from '../../test/support/free-port.ts';
import { waitUntil } from '../../test/support/wait-until.ts';
import { readOptions } from '../harness/command-line.ts';
import { packagedServe } from '../harness/packaged-command.ts';
import { usageOf } from '../harness/process-usage.ts';
import { markdownTable } from '../report/text-table.ts';

const versions: readonly KubernetesVersionName[] = ['1.35', '1.36', '1.35'];
const values = readOptions('idle', {
  seconds: { type: 'string', default: '60', value: 'N', about: 'how long each row is measured' },
});
const seconds = Number(values.seconds);
const root = join(import.meta.dirname, '..', '..');
const serve = await packagedServe(root);

const rows: string[][] = [];
for (const serverCount of [3, 50]) {
  for (const source of ['pushed snapshots', 'reads the cluster itself'] as const) {
    const cluster = await createEmbeddedCluster();
    try {
      rows.push([`${serverCount} servers, ${source}`, ...(await measure(cluster, serverCount, source))]);
    } finally {
      await cluster.close();
    }
  }
}
console.log(
  markdownTable([['', 'CPU until it knows its servers, ms', 'CPU at rest, ms/s', 'memory, MiB'], ...rows]),
);

async function measure(
  cluster: EmbeddedCluster,
  serverCount: number,
  source: 'pushed snapshots' | 'reads the cluster itself',
): Promise<string[]> {
  const servers: ExampleApiServer[] = [];
  for (let index = 0; index < serverCount; index++) {
    const version = versions[index % versions.length] ?? '1.36';
    servers.push(await cluster.startServer({ version, name: `control-plane-${index}` }));
  }
  const [local] = servers;
  if (local === undefined) throw new TypeError('there is a server');
  const port = await freePort();
  const origin = `https://127.0.0.1:${port}`;
  const isPushed = source === 'pushed snapshots';
  const kubeconfig = await cluster.kubeconfig(local);
  const flags = {
    ...serveFlags({
      apiServer: local,
      certificates: cluster.certificates,
      snapshotKeys: cluster.keyFiles.publicKeys,
      snapshotFile: '',
      logger: silentLogger,
    }),
    'snapshot-file': undefined,
    'secure-port': [String(port)],
    ...(isPushed ? {} : { 'snapshot-keys': undefined, kubeconfig: [kubeconfig] }),
  };
  const router = await startChild({
    executable: process.execPath,
    arguments: [...serve, ...flagArguments(flags)],
  });
  const stop = new AbortController();
  const client = ownPathsClient(origin, cluster.credentials);
  const syncing = isPushed
    ? runSync(
        {
          ...cluster.credentials,
          servers: [],
          peers: { allowLoopback: true },
          kubernetes: { kubeconfig },
          routers: [{ url: origin }],
        },
        stop.signal,
      )
    : undefined;
  try {
    await waitUntil('the router knows every server', async () => {
      const status = await client.status().catch(() => undefined);
      return status?.servers.length === serverCount;
    });
    const start = await usageOf(router.pid);
    await sleep(seconds * 500);
    const before = await usageOf(router.pid);
    await sleep(seconds * 1_000);
    const after = await usageOf(router.pid);
    const cpu = (after.cpuTime - before.cpuTime) / 1_000 / seconds;
    return [(start.cpuTime / 1_000).toFixed(0), cpu.toFixed(1), (after.resident / 1024).toFixed(0)];
  } finally {
    stop.abort();
    await syncing;
    await client.close();
    await router.stop();
  }
}

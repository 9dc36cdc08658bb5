import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import * as v from 'valibot';
import { hasHelm, renderChart } from '../../scripts/helm/render-chart.ts';
import { routerManifest } from '../../src/cli/install/router-files.ts';
import { syncCluster } from '../support/clusters/sync-cluster.ts';
import type { CommandProcess } from '../support/commands/command-process.ts';
import { startSyncProcess } from '../support/commands/sync-process.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { startRouterProcess } from '../support/routers/router-process.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { type KubernetesObject, objectsIn, objectsOf } from './support/manifests.ts';

const probeSchema = v.strictObject({
  httpGet: v.strictObject({
    host: v.optional(v.string()),
    path: v.string(),
    port: v.union([v.number(), v.string()]),
    scheme: v.optional(v.picklist(['HTTP', 'HTTPS']), 'HTTP'),
  }),
  periodSeconds: v.number(),
  timeoutSeconds: v.optional(v.number(), 1),
  failureThreshold: v.number(),
});
type Probe = v.InferOutput<typeof probeSchema>;

const podSchema = v.looseObject({
  containers: v.tuple([v.looseObject({ livenessProbe: probeSchema })]),
});
const workloadSchema = v.looseObject({ template: v.looseObject({ spec: podSchema }) });

/** The liveness probes of the one kind of object in a manifest that has a container. */
function livenessIn(objects: readonly KubernetesObject[], kind: string): Probe {
  const found = objects.filter((object) => object.kind === kind);
  assert.equal(found.length, 1);
  const pod =
    kind === 'Pod'
      ? v.parse(podSchema, found[0]?.['spec'])
      : v.parse(workloadSchema, found[0]?.['spec']).template.spec;
  return pod.containers[0].livenessProbe;
}

const chartWithSync = {
  'sync.enabled': true,
  'gateway.trustConfigMap': 'trust',
  'gateway.servingSecret': 'serving',
};
const ofRouter: Readonly<Record<string, () => Probe>> = {
  'the static pod': () => livenessIn(objectsOf('deploy/static-pod/mixed-version-proxy.yaml'), 'Pod'),
  'what install kubeadm writes': () => livenessIn(objectsIn(routerManifest('image:1', 7443, [])), 'Pod'),
  'the plain manifests': () =>
    livenessIn(objectsOf('deploy/kubernetes/mixed-version-proxy.yaml'), 'StatefulSet'),
  ...(hasHelm() && { 'the chart': () => livenessIn(objectsIn(renderChart()), 'StatefulSet') }),
};
const ofSync: Readonly<Record<string, () => Probe>> = {
  'the Deployment of the sync job': () => livenessIn(objectsOf('deploy/sync/deployment.yaml'), 'Deployment'),
  ...(hasHelm() && {
    'the chart with a sync job': () => livenessIn(objectsIn(renderChart([], chartWithSync)), 'Deployment'),
  }),
};

/** A probe as the kubelet makes it (k8s.io/kubernetes pkg/probe/http): certificates are not checked, 2xx and 3xx are good. */
async function isAlive({ httpGet }: Probe, port: number, within: number): Promise<boolean> {
  const { path, scheme } = httpGet;
  const ask = scheme === 'HTTPS' ? requestHttps : requestHttp;
  const outgoing = ask({
    ...{ host: '127.0.0.1', port, path, agent: false, rejectUnauthorized: false },
    headers: { connection: 'close', 'user-agent': 'kube-probe/1.36' },
    signal: AbortSignal.timeout(within),
  });
  outgoing.end();
  try {
    const [response] = await once(outgoing, 'response');
    response.resume();
    return response.statusCode >= 200 && response.statusCode < 400;
  } catch {
    return false;
  }
}

/** Where systemd would listen (sd_notify(3)). It counts in the units, where this cannot look: deploy/systemd. */
async function watchdog(context: TestContext) {
  const socket = join(await temporaryDirectory(context), 'notify');
  // Node cannot listen there, systemd's own program can.
  const listener = spawn('systemd-socket-activate', [
    ...['--datagram', '--listen', socket, '--', '/bin/sh', '-c', 'exec cat <&3'],
  ]);
  const closed = once(listener, 'close');
  context.after(() => {
    listener.kill('SIGKILL');
    return closed;
  });
  let received = '';
  listener.stdout.setEncoding('utf8').on('data', (text: string) => {
    received += text;
  });
  await eventually(() => existsSync(socket));
  return {
    /** Milliseconds. */
    time: 600,
    prelude: `export NOTIFY_SOCKET=${socket} WATCHDOG_USEC=600000`,
    heard: () => received.split('WATCHDOG=1').length - 1,
  };
}

/** Neither its probes nor its watchdog have it started again. */
async function assertLives(
  probes: Readonly<Record<string, () => Probe>>,
  port: number,
  heard: () => number,
): Promise<void> {
  for (const [where, probe] of Object.entries(probes)) {
    const { timeoutSeconds } = probe();
    // As the kubelet, which restarts nothing for one bad probe of several.
    await eventually(
      () => isAlive(probe(), port, timeoutSeconds * 1000),
      probe().failureThreshold * 10_000,
    ).catch(() => assert.fail(`${where}: the kubelet would restart it`));
  }
  const before = heard();
  await eventually(() => heard() > before + 1);
}

async function assertIsStartedAgain(
  probes: Readonly<Record<string, () => Probe>>,
  running: CommandProcess,
  port: number,
  { heard, time }: Awaited<ReturnType<typeof watchdog>>,
): Promise<void> {
  running.signal('SIGSTOP');
  for (const [where, probe] of Object.entries(probes)) {
    assert.equal(await isAlive(probe(), port, 300), false, where);
  }
  // The kernel takes connections for a process that stands still: a probe of the port alone would find it alive.
  const taken = connect(port, '127.0.0.1');
  await once(taken, 'connect');
  taken.destroy();
  // Bytes that were under way have arrived by now.
  const before = heard();
  await new Promise((resolve) => setTimeout(resolve, time));
  assert.equal(heard(), before);
  running.signal('SIGCONT');
  await eventually(() => heard() > before);
}

const hasSystemd = spawnSync('systemd-socket-activate', ['--version']).error === undefined;
const skip = hasSystemd ? false : 'systemd-socket-activate is not on PATH (Debian: apt install systemd)';

test('a router that is full lives on, and one that is stuck is started again: by each probe, and by systemd', {
  skip,
}, async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'cp-a' });
  const notified = await watchdog(context);
  const flags = { 'snapshot-keys': undefined, kubeconfig: [await cluster.kubeconfig(server)] };
  // A process that may open few files takes few connections.
  const prelude = `${notified.prelude}; ulimit -n 256`;
  const router = await startRouterProcess(context, cluster, server, flags, prelude);
  await assertLives(ofRouter, router.port, notified.heard);
  const { certificateAuthorities: ca, clientCertificate } = cluster.credentials;
  const { certificate: cert, key } = clientCertificate;
  let ended = 0;
  for (let open = 0; !router.log().includes('Connections are refused'); open++) {
    assert.ok(open < 256);
    const path = '/api/v1/namespaces?watch=true';
    const watch = requestHttps({ host: '127.0.0.1', port: router.port, path, agent: false, ca, cert, key });
    const [{ statusCode }] = await once(watch.end(), 'response');
    assert.ok(statusCode === 200 || statusCode === 429, String(statusCode));
    watch.on('error', () => {}).on('close', () => ended++);
    if (statusCode === 429) watch.destroy();
    context.after(() => watch.destroy());
  }
  await assertLives(ofRouter, router.port, notified.heard);
  assert.ok(ended <= 1, 'who has a request makes room for nobody');
  await assertIsStartedAgain(ofRouter, router, router.port, notified);
});

test('a sync job that is full lives on, and one that is stuck is started again', {
  skip,
}, async (context) => {
  const cluster = await syncCluster(context);
  const server = await cluster.startServer({ version: '1.36', name: 'cp-a' });
  const notified = await watchdog(context);
  const port = await freePort();
  const sync = startSyncProcess(context, cluster, {
    servers: [server],
    flags: ['--target', 'https://127.0.0.1:1', '--health-port', String(port)],
    shellPrelude: notified.prelude,
  });
  await assertLives(ofSync, port, notified.heard);
  for (let open = 0; open < 256; open++) {
    const silent = connect(port, '127.0.0.1').on('error', () => {});
    context.after(() => silent.destroy());
    await once(silent, 'connect');
  }
  await assertLives(ofSync, port, notified.heard);
  await assertIsStartedAgain(ofSync, sync, port, notified);
});

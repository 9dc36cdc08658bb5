import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, type TestContext, test } from 'node:test';
import { Agent, request, WebSocket } from 'undici';
import { writeKubeconfig } from '../demo/kubeconfig.ts';
import type { RunningRouter } from '../src/node/configuration/serve-config.ts';
import { findKubectls, kubectlMissing, runKubectl } from './support/clients/kubectl.ts';
import { askRouter, eventuallyReturns, startSync, syncCluster } from './support/clusters/sync-cluster.ts';
import { parseScrape } from './support/prometheus-text.ts';
import { type Configure, withHealth } from './support/routers/router-under-test.ts';

/** Two of the three servers here serve it: not the one behind the first router. */
const flowSchemas = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';
const pods = '/api/v1/namespaces/default/pods';

type Flags = Readonly<Record<string, readonly string[]>>;

/**
 * Servers that peers reach through their routers alone.
 * @param first flags of the router that is asked
 * @param configure for what no flag sets, of every router
 */
async function clusterBehindRouters(context: TestContext, first: Flags = {}, configure?: Configure) {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const c = await cluster.startServer({ version: '1.36', name: 'cp-c' });
  const start = (server: typeof a, flags: Flags): Promise<RunningRouter> =>
    cluster.startRouter(server, { 'advertise-address': ['127.0.0.1'], ...flags }, { configure });
  const routerA = await start(a, first);
  const routerB = await start(b, {});
  const routers = [routerA, routerB, await start(c, {})];
  await startSync(context, {
    ...cluster.credentials,
    servers: [a, b, c].map(({ serverId, url }) => ({ id: serverId, url })),
    routers: routers.map(({ origin }) => ({ url: origin })),
    timing: { interval: 250 },
  });
  for (const { origin } of routers) {
    await eventuallyReturns(askRouter(context, origin, cluster).status, ({ servers }) =>
      servers.every(({ addressSource }) => addressSource === 'advertised'),
    );
  }
  const { admin } = cluster.certificates;
  const agent = new Agent({
    connect: {
      ca: cluster.credentials.certificateAuthorities,
      cert: await readFile(admin.certificate, 'utf8'),
      key: await readFile(admin.privateKey, 'utf8'),
    },
  });
  context.after(() => agent.destroy());
  const statusOf = async (
    path: string,
    options: Omit<NonNullable<Parameters<typeof request>[1]>, 'dispatcher'> = {},
    { origin }: RunningRouter = routerA,
  ): Promise<number> => {
    const { statusCode, body } = await request(`${origin}${path}`, { ...options, dispatcher: agent });
    await body.dump();
    return statusCode;
  };
  await eventuallyReturns(
    () => statusOf(flowSchemas),
    (status) => status === 200,
  );
  const metrics = askRouter(context, routerB.origin, cluster).metrics;
  /** How many requests the router of `b` has refused because its server is down. */
  const refused = async (): Promise<number> => {
    const dropped = parseScrape(await metrics()).get('mixed_version_proxy_dropped_requests_total');
    return dropped?.samples.find(({ labels }) => labels['reason'] === 'ServerNotReady')?.value ?? 0;
  };
  /** How many requests for `flowSchemas` peers have sent to the router of `b`, whatever became of them. */
  const sentByPeers = async (): Promise<number> => {
    const requests = parseScrape(await metrics()).get('mixed_version_proxy_requests_total')?.samples ?? [];
    return requests
      .filter(({ labels }) => labels['source'] === 'router' && labels['resource'] === 'flowschemas')
      .reduce((sum, { value }) => sum + value, 0);
  };
  return { cluster, a, b, routerA, routerB, agent, statusOf, refused, sentByPeers };
}

async function again(ask: () => Promise<number>): Promise<number> {
  const status = await ask();
  return status === 503 ? ask() : status;
}

const mergePatch = {
  method: 'PATCH',
  headers: { 'content-type': 'application/merge-patch+json' },
  body: '{"metadata":{}}',
} as const;

test('while a server is down behind its router, what peers send there reaches another server', async (context) => {
  const { b, statusOf } = await clusterBehindRouters(context);
  const write = () => statusOf(`${flowSchemas}/exempt`, mergePatch);
  const written = await write();
  await b.close();
  // By chance each goes to the one or the other: that all of them go to the right one is one in a million. The budget of second
  // tries may be spent: as client-go does, a 503 is asked once more, and a router that tried no other server would still fail 299 of 300 runs.
  for (let turn = 0; turn < 20; turn++) {
    assert.equal(await again(() => statusOf(flowSchemas)), 200);
    assert.equal(await again(write), written);
  }
});

test('peers learn from a router that its server is down before it counts as unhealthy, load balancers do not', async (context) => {
  const { b, routerB, statusOf, sentByPeers } = await clusterBehindRouters(
    context,
    {},
    withHealth({ fall: 100 }),
  );
  // By chance twenty in a row go to the other server anyway: that is one in a million.
  const sentOfTwenty = async (): Promise<number> => {
    const before = await sentByPeers();
    for (let turn = 0; turn < 20; turn++) assert.equal(await again(() => statusOf(flowSchemas)), 200);
    return (await sentByPeers()) - before;
  };
  assert.ok((await sentOfTwenty()) > 0);
  await b.close();
  // A probe may tell the peer before a request is refused.
  await eventuallyReturns(sentOfTwenty, (count) => count === 0);
  const marked = { headers: { 'x-kubernetes-peer-proxied': 'true' } };
  assert.equal(await statusOf('/readyz', marked, routerB), 500);
  assert.equal(await statusOf('/readyz', {}, routerB), 200);
});

/** A router whose own server is down, and for which probes put no other aside: it learns of others by requests alone. */
async function clusterWithTwoServersDown(context: TestContext) {
  const started = await clusterBehindRouters(context, {}, withHealth({ fall: 10_000 }));
  const { a, b, statusOf, routerB, refused } = started;
  const pod = { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } };
  const create = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(pod),
  } as const;
  assert.equal(await statusOf(pods, create), 201);
  await a.close();
  await b.close();
  const readyForPeers = () =>
    statusOf('/readyz', { headers: { 'x-kubernetes-peer-proxied': 'true' } }, routerB);
  await eventuallyReturns(readyForPeers, (status) => status === 500);
  const before = await refused();
  return { ...started, wasRefused: async () => (await refused()) > before };
}

/** True if a WebSocket for a command opens. */
async function opensExec({ origin }: RunningRouter, agent: Agent): Promise<boolean> {
  const socket = new WebSocket(`${origin.replace('https', 'wss')}${pods}/p/exec?command=id`, {
    protocols: ['v5.channel.k8s.io'],
    dispatcher: agent,
  });
  const { promise, resolve } = Promise.withResolvers<boolean>();
  socket.onopen = () => resolve(true);
  socket.onerror = () => resolve(false);
  const opened = await promise;
  socket.close();
  return opened;
}

type ServersDown = Awaited<ReturnType<typeof clusterWithTwoServersDown>>;

/**
 * Sends upgrades until the router of the server that is down has refused one. A probe that runs just then may have the first router
 * put that server aside by itself: no upgrade is sent there any more, and another cluster is tried.
 */
async function untilRefused(
  context: TestContext,
  prepared: (started: ServersDown) => Promise<() => Promise<void>>,
): Promise<void> {
  for (let tried = 0; tried < 3; tried++) {
    const started = await clusterWithTwoServersDown(context);
    const upgrade = await prepared(started);
    // By chance each goes to the one or the other.
    for (let turn = 0; turn < 20; turn++) {
      await upgrade();
      if (await started.wasRefused()) return;
    }
  }
  assert.fail('the router of the server that is down was never asked');
}

describe('an upgrade that the router of a server that is down refuses goes to another server', () => {
  test('exec by WebSocket', (context) =>
    untilRefused(context, async ({ routerA, agent }) => async () => {
      assert.equal(await opensExec(routerA, agent), true);
    }));

  const kubectl = findKubectls().at(-1);
  test('kubectl exec', {
    skip: kubectl === undefined && kubectlMissing,
  }, async (context) => {
    assert.ok(kubectl);
    await untilRefused(context, async ({ cluster, routerA }) => {
      const kubeconfig = await writeKubeconfig(join(cluster.directory, 'kubeconfig'), {
        servers: { router: routerA.origin },
        certificateAuthority: cluster.certificates.clusterCa,
        users: { admin: cluster.certificates.admin },
      });
      return async () => {
        const args = ['--kubeconfig', kubeconfig, 'exec', 'p', '--', 'id', '-u'];
        const { code, stdout, stderr } = await runKubectl(kubectl, cluster.directory, args);
        assert.equal(code, 0, stderr);
        assert.match(stdout, /"id" "-u"/);
      };
    });
  });
});

test('an upgrade goes to another server while the router of the first one is gone', async (context) => {
  // On a busy machine the only server that is left may be put aside just then: another cluster is tried. A router that goes on to the
  // one that is gone fails in each of them.
  for (let tried = 0; tried < 3; tried++) {
    const { routerA, routerB, agent } = await clusterWithTwoServersDown(context);
    await routerB.close();
    // By chance each would go to the one or the other. That a refusal leads on is shown above.
    let turns = 0;
    while (turns < 20 && (await opensExec(routerA, agent))) turns++;
    if (turns === 20) return;
  }
  assert.fail('an upgrade did not open in any of three clusters');
});

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import { Agent, request } from 'undici';
import type { RunningRouter } from '../src/node/configuration/serve-config.ts';
import { parseScrape } from './support/prometheus-text.ts';
import { askRouter, eventuallyReturns, startSync, syncCluster } from './support/sync-cluster.ts';

/** Two of the three servers here serve it: not the one behind the first router. */
const flowSchemas = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';

type Flags = Readonly<Record<string, readonly string[]>>;

/** Servers that peers reach through their routers alone. @param first flags of the router that is asked */
async function clusterBehindRouters(context: TestContext, first: Flags = {}, others: Flags = {}) {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const c = await cluster.startServer({ version: '1.36', name: 'cp-c' });
  const start = (server: typeof a, flags: Flags): Promise<RunningRouter> =>
    cluster.startRouter(server, { 'advertise-address': ['127.0.0.1'], ...flags });
  const routerA = await start(a, first);
  const routerB = await start(b, others);
  const routers = [routerA, routerB, await start(c, others)];
  await startSync(context, {
    ...cluster.credentials,
    servers: [a, b, c].map(({ serverId, url }) => ({ id: serverId, url })),
    routers: routers.map(({ origin }) => ({ url: origin })),
    timing: { interval: 50 },
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
    const dropped = parseScrape(await metrics(), 'text').get('mixed_version_proxy_dropped_requests_total');
    return dropped?.samples.find(({ labels }) => labels['reason'] === 'ServerNotReady')?.value ?? 0;
  };
  return { b, routerB, statusOf, refused };
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
  // By chance each goes to the one or the other: that all of them go to the right one is one in a million.
  for (let turn = 0; turn < 20; turn++) {
    assert.equal(await statusOf(flowSchemas), 200);
    assert.equal(await write(), written);
  }
});

test('peers learn from a router that its server is down before it counts as unhealthy, load balancers do not', async (context) => {
  const neverUnhealthy = { 'health-check-fall': ['100'] };
  const { b, routerB, statusOf, refused } = await clusterBehindRouters(
    context,
    neverUnhealthy,
    neverUnhealthy,
  );
  await b.close();
  // By chance twenty in a row go to the other server anyway: that is one in a million.
  const refusedOfTwenty = async (): Promise<number> => {
    const before = await refused();
    for (let turn = 0; turn < 20; turn++) assert.equal(await statusOf(flowSchemas), 200);
    return (await refused()) - before;
  };
  await eventuallyReturns(refusedOfTwenty, (count) => count === 0);
  assert.ok((await refused()) > 0);
  const marked = { headers: { 'x-kubernetes-peer-proxied': 'true' } };
  assert.equal(await statusOf('/readyz', marked, routerB), 500);
  assert.equal(await statusOf('/readyz', {}, routerB), 200);
});

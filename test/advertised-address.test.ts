import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { request } from 'undici';
import type { RouterStatus } from '../src/own-paths/status/status-schema.ts';
import {
  askRouter,
  clientAgent,
  eventuallyReturns,
  startSync,
  syncCluster,
} from './support/clusters/sync-cluster.ts';
import { listenOnLoopback } from './support/listen-on-loopback.ts';

/** Only the newer one of the two servers here serves it. */
const flowSchemas = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';

type KnownServer = RouterStatus['servers'][number];

/** An address of the router's that only the operator knows of, as behind a port mapping. */
async function mappedPort(context: TestContext) {
  const mapping = { port: 0, to: 0, connections: 0 };
  const server = createServer((client) => {
    mapping.connections++;
    const router = connect(mapping.to, '127.0.0.1').on('error', () => client.destroy());
    client.on('close', () => router.destroy());
    client.pipe(router).pipe(client);
  });
  const { port, stop } = await listenOnLoopback(server);
  context.after(stop);
  mapping.port = port;
  return mapping;
}

test('an address given to a router is what peers dial, for as long as its operator says so', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const mapping = await mappedPort(context);
  const routerA = await cluster.startRouter(a);
  const given = { 'peer-advertise-ip': ['127.0.0.1'], 'peer-advertise-port': [String(mapping.port)] };
  const routerB = await cluster.startRouter(b, given);
  mapping.to = Number(new URL(routerB.origin).port);
  const options = {
    ...cluster.credentials,
    servers: [],
    peers: { allowLoopback: true },
    kubernetes: { kubeconfig: await cluster.kubeconfig(a) },
    routers: [{ url: routerA.origin }, { url: routerB.origin }],
    timing: { interval: 50 },
  };
  const first = await startSync(context, options);

  const client = askRouter(context, routerA.origin, cluster);
  const server = async (id: string): Promise<KnownServer | undefined> =>
    (await client.status()).servers.find((known) => known.id === id);
  const isAt = (address: string) => (known: KnownServer | undefined) => known?.address === address;
  const advertised = `127.0.0.1:${mapping.port}`;
  const known = await eventuallyReturns(() => server(b.serverId), isAt(advertised));
  assert.equal(known?.addressSource, 'advertised');
  assert.equal(known?.stale, false, 'it is read at its own address');
  // An address that a router falls back to, here the one that it listens on, is no reason to pass the Lease over.
  const other = await server(a.serverId);
  assert.deepEqual([other?.address, other?.addressSource], [`127.0.0.1:${a.port}`, 'lease']);

  const agent = clientAgent(context, cluster);
  const ask = async (): Promise<number> => {
    const { statusCode, body } = await request(`${routerA.origin}${flowSchemas}`, { dispatcher: agent });
    await body.dump();
    return statusCode;
  };
  // 503 while the router is not sure of the other server.
  await eventuallyReturns(ask, (statusCode) => statusCode === 200);
  assert.ok(mapping.connections > 0);

  // Neither a router that is gone nor a sync job that starts anew takes it back.
  await routerB.close();
  await first.stop();
  const second = await startSync(context, options);
  await eventuallyReturns(
    async () => second.loop.status(),
    ({ targets }) =>
      targets.some(({ heldGeneration }) => heldGeneration !== undefined) &&
      targets.some(({ lastResult }) => lastResult?.kind === 'unreachable'),
  );
  assert.equal((await server(b.serverId))?.address, advertised);

  // The operator takes back the advertised address.
  await cluster.startRouter(b, { 'secure-port': [String(mapping.to)] });
  const back = await eventuallyReturns(() => server(b.serverId), isAt(`127.0.0.1:${b.port}`));
  assert.equal(back?.addressSource, 'lease');
});

test('an address given to a router goes before the one that its server is listed with', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.36', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const routerA = await cluster.startRouter(a, {
    'advertise-address': ['127.0.0.1'],
  });
  await startSync(context, {
    ...cluster.credentials,
    servers: [a, b].map(({ serverId, url }) => ({ id: serverId, url })),
    routers: [{ url: routerA.origin }],
    timing: { interval: 50 },
  });
  const client = askRouter(context, routerA.origin, cluster);
  const { servers } = await eventuallyReturns(client.status, (status) =>
    status.servers.some(({ addressSource }) => addressSource === 'advertised'),
  );
  const told = new Map(servers.map((server) => [server.id, server]));
  assert.equal(told.get(a.serverId)?.address, new URL(routerA.origin).host);
  assert.deepEqual(
    [told.get(b.serverId)?.address, told.get(b.serverId)?.addressSource],
    [`127.0.0.1:${b.port}`, 'listed'],
  );
});

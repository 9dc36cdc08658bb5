import assert from 'node:assert/strict';
import { test } from 'node:test';
import { request } from 'undici';
import type { APIGroupDiscovery } from '../../src/snapshot/format/schema.ts';
import {
  askRouter,
  clientAgent,
  eventuallyReturns,
  startSync,
  syncCluster,
} from '../support/clusters/sync-cluster.ts';

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const version = '/apis/flowcontrol.apiserver.k8s.io/v1beta3';
const schemas = `${version}/flowschemas`;

/** A router in front of 1.36, and a 1.26 that the sync job has found: it alone serves `flowschemas` in v1beta3. */
async function upgrading(context: Parameters<typeof syncCluster>[0]) {
  const cluster = await syncCluster(context);
  const local = await cluster.startServer({ version: '1.36', name: 'cp-a' });
  const old = await cluster.startServer({ version: '1.26', name: 'cp-b' });
  const router = await cluster.startRouter(local);
  const { certificateAuthorities, clientCertificate, signingKey } = cluster.credentials;
  const job = {
    signingKey,
    servers: [],
    clientCertificate,
    routerCertificateAuthorities: certificateAuthorities,
    peers: { allowLoopback: true },
    kubernetes: { kubeconfig: await cluster.kubeconfig(local) },
    routers: [{ url: router.origin }],
    timing: { interval: 250 },
  };
  const agent = clientAgent(context, cluster);
  const ask = async (path: string, method = 'GET', accept = 'application/json') => {
    const answer = await request(`${router.origin}${path}`, {
      dispatcher: agent,
      method,
      headers: { accept },
    });
    const { statusCode: status, headers } = answer;
    return { status, retryAfter: headers['retry-after'], text: await answer.body.text() };
  };
  const freshness = async (): Promise<string | undefined> => {
    const { items } = JSON.parse((await ask('/apis', 'GET', aggregated)).text) as {
      items: APIGroupDiscovery[];
    };
    const group = items.find(({ metadata }) => metadata.name === 'flowcontrol.apiserver.k8s.io');
    return group?.versions?.find((candidate) => candidate.version === 'v1beta3')?.freshness;
  };
  return { cluster, local, old, job, ask, freshness, client: askRouter(context, router.origin, cluster) };
}

test('what only a server serves that ends in order is 503 and Stale until it is back, and 404 once it is back without it', async (context) => {
  const { cluster, old, job, ask, freshness, client } = await upgrading(context);
  const first = await startSync(context, job);
  await eventuallyReturns(
    () => ask(schemas),
    ({ status }) => status === 200,
  );

  // As at SIGTERM: its identity Lease goes with it.
  await old.close();
  const codes = new Set<number>();
  await eventuallyReturns(
    async () => {
      for (const method of ['GET', 'DELETE']) codes.add((await ask(`${schemas}/none`, method)).status);
      return client.explain(schemas);
    },
    ({ reason }) => reason === 'ServerDeparted',
  );
  assert.deepEqual([...codes], [503]);
  const away = await ask(schemas);
  assert.deepEqual([away.status, away.retryAfter], [503, '1']);
  assert.match(away.text, /has been stopped and may come back/);
  assert.equal(await freshness(), 'Stale');
  const index = JSON.parse((await ask('/openapi/v3')).text) as {
    paths: Record<string, { serverRelativeURL: string }>;
  };
  const document = index.paths[version.slice(1)]?.serverRelativeURL ?? '';
  const { status, retryAfter } = await ask(document);
  assert.deepEqual([status, retryAfter], [503, '1']);
  const shown = (await client.status()).servers.find(({ id }) => id === old.serverId);
  assert.ok(shown?.departedAt !== null && shown?.departedAt !== undefined);

  // The sync job is restarted meanwhile, and reads back from the router what there was.
  await first.stop();
  const second = await startSync(context, job);
  await eventuallyReturns(
    async () => second.loop.status(),
    ({ servers }) => servers.some(({ state }) => state === 'departed'),
  );
  assert.equal((await ask(schemas)).status, 503);

  await cluster.startServer({ version: '1.36', name: 'cp-b', port: old.port });
  await eventuallyReturns(
    () => ask(schemas),
    (answer) => answer.status === 404,
  );
  assert.equal(await freshness(), undefined);
});

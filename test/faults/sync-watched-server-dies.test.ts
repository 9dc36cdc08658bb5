import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askRouter, eventuallyReturns, startSync, syncCluster } from '../support/sync-cluster.ts';

const groupVersion = 'autoscaling/v2beta2';
const url = '/apis/autoscaling/v2beta2/namespaces/default/horizontalpodautoscalers';

test('the API server that is watched through dies and comes back, and meanwhile nobody else loses a route', async (context) => {
  const cluster = await syncCluster(context);
  const older = await cluster.startServer({ version: '1.25', name: 'older' });
  const newer = await cluster.startServer({ version: '1.26', name: 'newer' });
  const watched = await cluster.startServer({ version: '1.36', name: 'watched' });
  const router = await cluster.startRouter(newer);
  const { loop } = await startSync(context, {
    ...cluster.credentials,
    servers: [],
    kubernetes: { kubeconfig: await cluster.kubeconfig(watched) },
    routers: [{ url: router.origin }],
  });
  const client = askRouter(context, router.origin, cluster);
  const goesToOlder = ({ candidates }: { candidates: readonly { readonly id: string }[] }) =>
    candidates.some(({ id }) => id === older.serverId);
  await eventuallyReturns(() => client.explain(url), goesToOlder);
  await eventuallyReturns(client.status, ({ servers }) => servers.length === 3);

  await watched.close();
  await eventuallyReturns(
    async () => loop.status().servers.find(({ id }) => id === watched.serverId),
    (server) => server?.state !== 'current',
  );
  assert.ok(goesToOlder(await client.explain(url)));
  // What the other servers serve is still followed.
  older.setGroupVersion(groupVersion, false);
  await eventuallyReturns(
    () => client.explain(url),
    ({ reason }) => reason === 'NotServedByAnyServer',
  );

  const { version, port } = watched;
  await cluster.startServer({ version, name: 'watched', port });
  await eventuallyReturns(
    async () => loop.status(),
    ({ servers, warnings }) => servers.every(({ state }) => state === 'current') && warnings.length === 0,
  );
  older.setGroupVersion(groupVersion, true);
  await eventuallyReturns(() => client.explain(url), goesToOlder);
});

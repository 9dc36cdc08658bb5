import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { RequestRecord } from '../demo/example-api-server/index.ts';
import { parseRequestInfo } from '../src/apimachinery/request-info.ts';
import { syncOnce } from '../src/sync/node/run-sync.ts';
import { permissionsOf } from './support/rbac.ts';
import { askRouter, eventuallyReturns, startSync, syncCluster } from './support/sync-cluster.ts';

test('the manifest allows every request of the sync job, and nothing that it does not ask for', async (context) => {
  const manifest = await readFile(
    join(import.meta.dirname, '..', 'deploy', 'kubernetes', 'reader.yaml'),
    'utf8',
  );
  const permissions = permissionsOf(manifest);
  assert.ok(permissions.length > 10);

  const requests: RequestRecord[] = [];
  const onRequest = (record: RequestRecord) => {
    // Everybody may ask what they may do (ClusterRole system:basic-user): a router asks in the job's name.
    const isOwn = !record.url.endsWith('/selfsubjectaccessreviews');
    if (record.user?.name === 'mixed-version-proxy-sync' && isOwn) requests.push(record);
  };
  const cluster = await syncCluster(context);
  const older = await cluster.startServer({ version: '1.25', name: 'older', onRequest });
  const newer = await cluster.startServer({ version: '1.36', name: 'newer', onRequest });
  const router = await cluster.startRouter(newer);
  const { loop, stop } = await startSync(context, {
    ...cluster.credentials,
    servers: [],
    kubernetes: { kubeconfig: await cluster.kubeconfig(newer) },
    routers: [{ url: router.origin }],
  });
  const client = askRouter(context, router.origin, cluster);
  await eventuallyReturns(client.status, ({ servers }) => servers.length === 2);
  await eventuallyReturns(
    async () => loop.status().servers,
    (servers) => servers.every(({ state }) => state === 'current'),
  );
  await stop();
  const listed = [older, newer].map(({ serverId, url }) => ({ id: serverId, url }));
  const recorded = await syncOnce(
    { ...cluster.credentials, servers: listed, record: join(cluster.directory, 'recorded') },
    new AbortController().signal,
  );
  assert.equal(recorded.ok, true);

  const used = new Set<string>();
  for (const { method, url } of requests) {
    const info = parseRequestInfo(method, url);
    const allowing = permissions.filter(({ allows }) => allows(info));
    assert.ok(allowing.length > 0, `${method} ${url} is not allowed`);
    for (const { name } of allowing) used.add(name);
  }
  const unused = permissions.map(({ name }) => name).filter((name) => !used.has(name));
  // The example servers have the StorageVersion API off, as most clusters do: what cannot be listed is not watched.
  assert.deepEqual(unused, ['watch internal.apiserver.k8s.io/storageversions in all namespaces']);
});

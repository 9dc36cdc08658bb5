import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { type TestContext, test } from 'node:test';
import type { EmbeddedCluster } from '../../../scripts/measure/embedded-cluster.ts';
import { httpsServer } from '../../../test/support/https-server.ts';
import { syncCluster } from '../../../test/support/sync-cluster.ts';
import type { LeaseRecord } from '../election/leader-election.ts';
import { kubernetesConnection } from './kubernetes-connection.ts';
import { httpLeaseClient, leaseClient } from './lease-client.ts';

const { signal } = new AbortController();
const leases = { group: 'coordination.k8s.io', resource: 'leases' };

function record(holderIdentity: string): LeaseRecord {
  const time = '2026-01-31T12:00:00.000000Z';
  return {
    holderIdentity,
    leaseDurationSeconds: 15,
    acquireTime: time,
    renewTime: time,
    leaseTransitions: 0,
  };
}

function client(context: TestContext, { credentials }: EmbeddedCluster, origins: readonly string[]) {
  const made = httpLeaseClient({
    ...credentials,
    servers: origins.map((origin) => ({ origin })),
    namespace: 'kube-system',
    name: 'sync',
    timeoutMilliseconds: 500,
  });
  context.after(() => made.close());
  return made;
}

test('a Lease is created, read and replaced, and fields of others stay', async (context) => {
  const cluster = await syncCluster(context);
  const { url } = await cluster.startServer({ version: '1.36', name: 'server' });
  const one = client(context, cluster, [url]);
  assert.equal(await one.get(signal), undefined);
  const created = await one.create(record('a'), signal);
  assert.deepEqual(created.record, record('a'));
  const stored = cluster.store.get(leases, 'kube-system', 'sync');
  assert.ok(stored !== undefined);
  cluster.store.update(leases, {
    ...stored,
    metadata: { ...stored.metadata, labels: { team: 'blue' } },
  });
  const read = await one.get(signal);
  assert.ok(read !== undefined);
  await one.replace(read, record('b'), signal);
  const after = cluster.store.get(leases, 'kube-system', 'sync');
  assert.deepEqual(after?.metadata.labels, { team: 'blue' });
  assert.equal((await one.get(signal))?.record.holderIdentity, 'b');
});

test('a Lease that was replaced meanwhile is a conflict, through any server', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.25', name: 'a' });
  const b = await cluster.startServer({ version: '1.36', name: 'b' });
  const one = client(context, cluster, [a.url]);
  const other = client(context, cluster, [b.url]);
  await one.create(record('nobody'), signal);
  const [read, sameRead] = [await one.get(signal), await other.get(signal)];
  assert.ok(read !== undefined && sameRead !== undefined);
  await one.replace(read, record('one'), signal);
  await assert.rejects(other.replace(sameRead, record('other'), signal), /returned 409/);
  await assert.rejects(other.create(record('other'), signal), /returned 409/);
  assert.equal((await other.get(signal))?.record.holderIdentity, 'one');
});

test('servers that are down, hang or return 503 are skipped, and the one that responds is asked first from then on', async (context) => {
  const cluster = await syncCluster(context);
  const asked: string[] = [];
  const { apiServer } = cluster.certificates;
  const tls = {
    cert: await readFile(apiServer.certificate, 'utf8'),
    key: await readFile(apiServer.privateKey, 'utf8'),
  };
  const hanging = await httpsServer(context, tls, () => asked.push('hanging'));
  const unavailable = await httpsServer(context, tls, (_request, response) => {
    asked.push('unavailable');
    response.writeHead(503).end();
  });
  const { url } = await cluster.startServer({
    version: '1.36',
    name: 'server',
    onRequest: () => asked.push('server'),
  });
  const origins = [hanging.port, unavailable.port, 1].map((port) => `https://127.0.0.1:${port}`);
  const one = client(context, cluster, [...origins, url]);
  await one.create(record('a'), signal);
  assert.deepEqual(asked, ['hanging', 'unavailable', 'server']);
  assert.equal((await one.get(signal))?.record.holderIdentity, 'a');
  assert.deepEqual(asked.slice(3), ['server']);
  await assert.rejects(client(context, cluster, origins).get(signal), /127\.0\.0\.1:1: .*ECONNREFUSED/);
});

test('a 404 of an intermediary does not mean that the Lease does not exist', async (context) => {
  const cluster = await syncCluster(context);
  const { apiServer } = cluster.certificates;
  const tls = {
    cert: await readFile(apiServer.certificate, 'utf8'),
    key: await readFile(apiServer.privateKey, 'utf8'),
  };
  const { port } = await httpsServer(context, tls, (_request, response) => {
    response.writeHead(404, { 'content-type': 'text/html' }).end('<html>no such host</html>');
  });
  await assert.rejects(client(context, cluster, [`https://127.0.0.1:${port}`]).get(signal), /returned 404/);
});

test('with a kubeconfig, the Lease is read with its current headers, those of impersonation too', async (context) => {
  const cluster = await syncCluster(context);
  const { apiServer, clusterCa } = cluster.certificates;
  const tls = {
    cert: await readFile(apiServer.certificate, 'utf8'),
    key: await readFile(apiServer.privateKey, 'utf8'),
  };
  const asked: unknown[] = [];
  const { port } = await httpsServer(context, tls, ({ headers }, response) => {
    asked.push([headers.authorization, headers['impersonate-user']]);
    response.end(JSON.stringify({ kind: 'Lease', metadata: { name: 'sync', resourceVersion: '1' } }));
  });
  const certificateAuthorities = await readFile(clusterCa, 'utf8');
  let headers = ['Authorization', 'Bearer one'];
  const connection = kubernetesConnection({
    access: {
      server: `https://127.0.0.1:${port}`,
      credentials: async () => ({
        certificateAuthorities,
        clientCertificate: undefined,
        headers,
        serverName: undefined,
      }),
    },
  });
  context.after(() => connection.close());
  const lease = leaseClient(connection, { namespace: 'kube-system', name: 'sync' });
  assert.equal((await lease.get(signal))?.record.holderIdentity, '');
  headers = ['Authorization', 'Bearer two', 'Impersonate-User', 'sync'];
  await lease.get(signal);
  assert.deepEqual(asked, [
    ['Bearer one', undefined],
    ['Bearer two', 'sync'],
  ]);
});

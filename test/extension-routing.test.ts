import assert from 'node:assert/strict';
import { request } from 'node:https';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { EmbeddedCluster } from '../scripts/measure/embedded-cluster.ts';
import type { Snapshot } from '../src/snapshot/format/types.ts';
import { runRecording, snapshotFromFolder } from '../src/sync/node/index.ts';
import { createAuthority } from './support/certificates.ts';
import { registerExtension } from './support/extension-api-service.ts';
import { httpsServer } from './support/https-server.ts';
import { askRouter, eventuallyReturns, startSync, syncCluster } from './support/sync-cluster.ts';

const authority = await createAuthority('extension-ca');

/** An extension API server under the name that kube-aggregator checks, and what arrived there. */
async function extensionServer(context: TestContext, name: string) {
  const pair = await authority.issue({
    commonName: name,
    dnsNames: [`${name}.monitoring.svc`],
    usage: 'server',
  });
  const arrived: { readonly url: string | undefined; readonly user: unknown }[] = [];
  const server = await httpsServer(
    context,
    { cert: pair.chain, key: pair.privateKey },
    (incoming, outgoing) => {
      arrived.push({ url: incoming.url, user: incoming.headers['x-remote-user'] });
      outgoing.writeHead(200, { 'content-type': 'application/json' });
      outgoing.end(JSON.stringify({ kind: 'List', items: [], from: name }));
    },
  );
  return { port: server.port, arrived };
}

/** An APIService, its Service and its EndpointSlice, as an operator and the controllers leave them. */
function register({ store }: EmbeddedCluster, name: string, port: number, spec: object): void {
  const metadata = { name, namespace: 'monitoring' };
  store.create(
    { group: '', resource: 'services' },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { type: 'ClusterIP', ports: [{ name: 'https', port, targetPort: 'secure' }], ...spec },
    },
  );
  store.create(
    { group: 'discovery.k8s.io', resource: 'endpointslices' },
    {
      apiVersion: 'discovery.k8s.io/v1',
      kind: 'EndpointSlice',
      metadata: { ...metadata, name: `${name}-x7k2p`, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['127.0.0.1'], conditions: { ready: true } }],
      ports: [{ name: 'https', port, protocol: 'TCP' }],
    },
  );
  registerExtension(
    store,
    { group: `${name}.example.com`, version: 'v1' },
    { namespace: 'monitoring', name, port },
    Buffer.from(authority.certificate).toString('base64'),
  );
}

function get(
  origin: string,
  path: string,
  { credentials }: EmbeddedCluster,
): Promise<{ status: number; body: string }> {
  const { certificateAuthorities: ca, clientCertificate } = credentials;
  return new Promise((resolve, reject) => {
    const options = { ca, cert: clientCertificate.certificate, key: clientCertificate.key, agent: false };
    request(`${origin}${path}`, options, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk: string) => {
        body += chunk;
      });
      response.once('end', () => resolve({ status: response.statusCode ?? 0, body }));
    })
      .once('error', reject)
      .end();
  });
}

function addresses(snapshot: Snapshot | undefined): Record<string, string | undefined> {
  const extensions = snapshot?.apiServices.filter(({ service }) => service !== undefined) ?? [];
  return Object.fromEntries(extensions.map(({ group, service }) => [group, service?.address]));
}

test('what the sync job finds out of a cluster leads a router straight to extension API servers', async (context) => {
  const cluster = await syncCluster(context);
  const metrics = await extensionServer(context, 'metrics');
  const headless = await extensionServer(context, 'headless');
  register(cluster, 'metrics', metrics.port, { clusterIP: '127.0.0.1' });
  register(cluster, 'headless', headless.port, { clusterIP: 'None' });
  // No port of the Service is the one that the APIService names.
  register(cluster, 'lost', 1, { clusterIP: '127.0.0.1', ports: [{ name: 'https', port: 2 }] });
  const server = await cluster.startServer({ version: '1.36', name: 'server' });
  const router = await cluster.startRouter(server, { 'extension-routing': ['extension'] });
  const client = askRouter(context, router.origin, cluster);
  const { loop, stop } = await startSync(context, {
    ...cluster.credentials,
    servers: [],
    kubernetes: { kubeconfig: await cluster.kubeconfig(server) },
    routers: [{ url: router.origin }],
  });
  await eventuallyReturns(client.status, ({ snapshot }) => snapshot !== null);

  const path = (name: string) => `/apis/${name}.example.com/v1/things`;
  for (const [name, { arrived }] of Object.entries({ metrics, headless })) {
    const { status, body } = await get(router.origin, path(name), cluster);
    assert.deepEqual([status, JSON.parse(body).from], [200, name], body);
    assert.deepEqual(arrived, [{ url: path(name), user: 'mixed-version-proxy-sync' }]);
  }

  // Without an address the aggregator of the local server is asked: here it has no such thing.
  const lost = await client.explain(path('lost'));
  assert.deepEqual([lost.decision, lost.reason], ['local', 'ExtensionAPIServerAddressUnknown']);
  assert.equal((await get(router.origin, path('lost'), cluster)).status, 404);
  const warnings = loop.status().warnings.filter((warning) => warning.includes('monitoring/lost'));
  assert.match(warnings.join('\n'), /has no address: the Service has no port 1/);
  await stop();

  // A bug report has them, too.
  const folder = join(cluster.directory, 'recorded');
  const servers = [{ id: server.serverId, url: server.url }];
  const recorded = await runRecording(
    { ...cluster.credentials, servers },
    folder,
    new AbortController().signal,
  );
  assert.deepEqual(recorded.issues, []);
  const offline = await snapshotFromFolder(folder);
  assert.deepEqual(addresses(offline.snapshot), {
    'headless.example.com': `127.0.0.1:${headless.port}`,
    'lost.example.com': undefined,
    'metrics.example.com': `127.0.0.1:${metrics.port}`,
  });
});

import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { chmod, cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { request } from 'undici';
import { createDemoCertificates } from '../demo/certificates.ts';
import type { ExampleApiServer, RequestRecord } from '../demo/example-api-server/index.ts';
import type { ServeConfig } from '../src/node/configuration/serve-config.ts';
import { syncCatalogue } from '../src/node/metrics/catalogue.ts';
import { createAuthority } from './support/certificates.ts';
import type { EmbeddedCluster } from './support/clusters/embedded-cluster.ts';
import {
  askRouter,
  clientAgent,
  eventuallyReturns,
  startSync,
  syncCluster,
} from './support/clusters/sync-cluster.ts';
import { eventually } from './support/eventually.ts';
import { parseScrape, sampleValue } from './support/prometheus-text.ts';
import { startRouterProcess } from './support/routers/router-process.ts';

/** Only the newer one of the two servers here serves it. */
const flowSchemas = '/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas';

/** Flags of a router that reads the cluster itself, through the kubeconfig of the sync job for one of its servers. */
async function readingBy(cluster: EmbeddedCluster, server: ExampleApiServer) {
  return { 'snapshot-keys': undefined, kubeconfig: [await cluster.kubeconfig(server)] };
}

test('a router with a kubeconfig and nothing else reads the cluster and sends requests where they are served', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const router = await cluster.startRouter(a, await readingBy(cluster, a));
  const client = askRouter(context, router.origin, cluster);
  const status = await eventuallyReturns(client.status, ({ servers }) => servers.length === 2);
  assert.deepEqual(
    status.warnings.filter((warning) => warning.includes('be read')),
    [],
  );
  assert.deepEqual(
    status.servers.map(({ id, stale }) => [id, stale]),
    [a, b].map(({ serverId }) => [serverId, false]).sort(),
  );
  const families = parseScrape(await client.metrics());
  for (const { name, labels } of Object.values(syncCatalogue)) {
    const samples = families.get(name)?.samples ?? [];
    assert.ok(samples.length > 0, `${name} has a series`);
    for (const { le: _, ...others } of samples.map((sample) => sample.labels))
      assert.deepEqual(Object.keys(others), labels, name);
  }
  assert.equal(sampleValue(families, syncCatalogue.servers.name, { state: 'ready' }), 2);
  const { validTo } = new X509Certificate(await readFile(cluster.certificates.sync.certificate));
  assert.equal(
    sampleValue(families, 'mixed_version_proxy_certificate_expiration_timestamp_seconds', {
      flag: '--kubeconfig',
    }),
    Date.parse(validTo) / 1000,
  );
  const { decision, candidates } = await client.explain(flowSchemas);
  assert.deepEqual([decision, candidates.map(({ id }) => id)], ['peer', [b.serverId]]);
});

test('every router reads for itself: none knows of another, and each knows a server that comes', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.26', name: 'cp-b' });
  const flags = await readingBy(cluster, a);
  const routers = await Promise.all([a, b].map((server) => cluster.startRouter(server, flags)));
  const clients = routers.map(({ origin }) => askRouter(context, origin, cluster));
  for (const { status } of clients) await eventuallyReturns(status, ({ servers }) => servers.length === 2);
  const c = await cluster.startServer({ version: '1.36', name: 'cp-c' });
  for (const { explain } of clients) {
    const told = await eventuallyReturns(
      () => explain(flowSchemas),
      // On a busy machine the local server may be late to respond: then another one is asked for its 404.
      ({ reason }) => reason === 'ServedByPeer',
    );
    assert.deepEqual(
      told.candidates.map(({ id }) => id),
      [c.serverId],
    );
  }
});

test('the local server is read where the router reaches it, and asked first for what all servers share', async (context) => {
  const cluster = await syncCluster(context);
  const asked = { a: [] as RequestRecord[], b: [] as RequestRecord[] };
  const a = await cluster.startServer({
    version: '1.26',
    name: 'cp-a',
    onRequest: (record) => asked.a.push(record),
  });
  const b = await cluster.startServer({
    version: '1.36',
    name: 'cp-b',
    onRequest: (record) => asked.b.push(record),
  });
  // The kubeconfig names the other one.
  const router = await cluster.startRouter(a, await readingBy(cluster, b));
  const client = askRouter(context, router.origin, cluster);
  await eventuallyReturns(client.status, ({ servers }) => servers.length === 2);
  const watches = (records: readonly RequestRecord[]) => records.filter(({ url }) => url.includes('watch='));
  await eventually(() => watches(asked.a).length >= 5);
  assert.deepEqual(watches(asked.b), []);
  // And every question names the router, so that none goes round.
  const own = asked.a.filter(({ rawHeaders }) => rawHeaders.includes('mixed-version-proxy-reader'));
  assert.ok(own.length > 0);
  for (const { rawHeaders } of own)
    assert.match(rawHeaders.join(' '), /via 1\.1 mixed-version-proxy-[0-9a-f]{16}/i);
});

test('a kubeconfig that leads to the router itself is passed over: the local server tells where the others are', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const first = await cluster.startRouter(a, await readingBy(cluster, a));
  const kubeconfig = await cluster.kubeconfig(a);
  const { port } = new URL(first.origin);
  await first.close();
  await writeFile(kubeconfig, (await readFile(kubeconfig, 'utf8')).replace(a.url, first.origin));
  const router = await cluster.startRouter(a, {
    'snapshot-keys': undefined,
    kubeconfig: [kubeconfig],
    'secure-port': [port],
  });
  const client = askRouter(context, router.origin, cluster);
  const status = await eventuallyReturns(client.status, ({ servers }) => servers.length === 2);
  assert.deepEqual(status.servers.map(({ id }) => id).sort(), [a.serverId, b.serverId].sort());
});

test('a gateway reads the cluster itself, too, and stays with what it knows while no server answers', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const router = await cluster.startRouter(a, {
    ...(await readingBy(cluster, a)),
    'server-id': undefined,
    'local-server': undefined,
    gateway: ['true'],
  });
  const client = askRouter(context, router.origin, cluster);
  await eventuallyReturns(client.status, ({ servers }) => servers.length === 2);
  // The kubeconfig's server: what all share is watched through the other one from then on.
  await a.close();
  const { candidates } = await client.explain(flowSchemas);
  assert.deepEqual(
    candidates.map(({ id }) => id),
    [b.serverId],
  );
  const c = await cluster.startServer({ version: '1.25', name: 'cp-c' });
  await eventuallyReturns(client.status, ({ servers }) => servers.some(({ id }) => id === c.serverId));
});

test('an address that the policy refuses is in the status with what to do, and costs nobody a snapshot', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.26', name: 'cp-b' });
  const router = await cluster.startRouter(a, {
    ...(await readingBy(cluster, a)),
    'allow-loopback-peers': ['false'],
  });
  const client = askRouter(context, router.origin, cluster);
  // The reading warns before what it has read is in use.
  const { warnings } = await eventuallyReturns(
    client.status,
    (seen) =>
      seen.snapshot !== null &&
      [a, b].every(({ serverId }) =>
        seen.warnings.some((warning) => warning.includes(`of ${serverId} is left out: it is a loopback`)),
      ),
  );
  assert.ok(warnings.some((warning) => warning.includes('--allow-loopback-peers')));
  assert.equal(sampleValue(parseScrape(await client.metrics()), 'mixed_version_proxy_refused_addresses'), 2);
});

test('a --peer-ca-file of another CA is one warning, which names the flag, and nothing counts as read', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const file = join(cluster.directory, 'other-ca.crt');
  await writeFile(file, (await createAuthority('another')).certificate);
  const flags = { ...(await readingBy(cluster, a)), 'peer-ca-file': [file] };
  const advice =
    'Its certificate is of another CA: see the CA that it is verified with (--peer-ca-file, or that of the kubeconfig)';

  const whole = await cluster.startRouter(a, flags);
  const { status } = askRouter(context, whole.origin, cluster);
  const { warnings, embeddedSync } = await eventuallyReturns(status, (seen) =>
    seen.warnings.some((each) => each.endsWith(advice)),
  );
  const [warning = '', ...others] = warnings;
  assert.deepEqual(others, []);
  assert.match(warning, /^the cluster cannot be read: https:\/\/127\.0\.0\.1:\d+: self-signed/);
  assert.ok(warning.endsWith(advice), warning);
  assert.equal(embeddedSync?.lastReadAt, null);

  const own = { ...flags, 'local-server-ca-file': [cluster.certificates.clusterCa] };
  const client = askRouter(context, (await cluster.startRouter(a, own)).origin, cluster);
  // Until both have been asked, the warning may be of a server that has not said yet that it is ready.
  const seen = await eventuallyReturns(
    client.status,
    ({ servers, warnings }) => servers.length === 1 && warnings.every((each) => each.endsWith(advice)),
  );
  assert.deepEqual(
    seen.warnings.map((warning) => [warning.includes(b.serverId), warning.endsWith(advice)]),
    [[true, true]],
    seen.warnings.join('\n'),
  );
  assert.notEqual(seen.embeddedSync?.lastReadAt, null);
});

test('a router whose kubeconfig names a file that is not there yet reads the cluster once it is', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const kubeconfig = await cluster.kubeconfig(a);
  const late = join(cluster.directory, 'late-ca.crt');
  const text = await readFile(kubeconfig, 'utf8');
  await writeFile(
    kubeconfig,
    text.replace(/certificate-authority-data: .*(?:\n\s+\S{60,})*/, `certificate-authority: ${late}`),
  );
  const flags = { 'snapshot-keys': undefined, kubeconfig: [kubeconfig] };
  const configure = (config: ServeConfig): ServeConfig => ({ ...config, peerCa: undefined });
  const router = await cluster.startRouter(a, flags, { configure });
  const client = askRouter(context, router.origin, cluster);
  await eventuallyReturns(client.status, ({ warnings }) =>
    warnings.some((warning) => /^the cluster cannot be read: .*late-ca\.crt/.test(warning)),
  );
  await writeFile(late, await readFile(cluster.certificates.clusterCa, 'utf8'));
  const { warnings } = await eventuallyReturns(client.status, ({ servers }) => servers.length === 1);
  assert.deepEqual(warnings, []);
});

test('nothing can be pushed to a router that reads the cluster itself, whoever signed it', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const router = await cluster.startRouter(a, await readingBy(cluster, a));
  const client = askRouter(context, router.origin, cluster);
  const { servers } = await eventuallyReturns(client.status, (status) => status.servers.length === 1);
  const { loop } = await startSync(context, {
    ...cluster.credentials,
    servers: [{ id: 'evil', url: a.url }],
    routers: [{ url: router.origin }],
  });
  await eventually(() => loop.status().targets[0]?.lastResult !== undefined);
  const [{ lastResult } = assert.fail()] = loop.status().targets;
  assert.equal(lastResult?.kind, 'refused');
  assert.match(lastResult?.message ?? '', /^405 This router reads the cluster itself/);
  // Nor in the form in which it takes its own.
  const agent = clientAgent(context, cluster);
  const url = `${router.origin}/.mixed-version-proxy/v1/snapshot`;
  const held = await request(url, { dispatcher: agent });
  const plain = await held.body.text();
  const answer = await request(url, { dispatcher: agent, method: 'PUT', body: plain });
  assert.equal(answer.statusCode, 405);
  await answer.body.dump();
  const sealed = await request(url, { dispatcher: agent, headers: { accept: 'application/jose' } });
  assert.equal(sealed.statusCode, 406);
  await sealed.body.dump();
  // The router may have read the cluster again meanwhile, which makes another generation.
  const after = await client.status();
  assert.deepEqual(
    after.servers.map(({ id }) => id),
    servers.map(({ id }) => id),
  );
});

test('what a router knew outlives its restart, and a file that others may write is not believed', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b' });
  const file = join(cluster.directory, 'snapshot');
  const flags = { ...(await readingBy(cluster, a)), 'snapshot-file': [file] };
  const first = await cluster.startRouter(a, flags);
  const client = askRouter(context, first.origin, cluster);
  const before = await eventuallyReturns(client.status, ({ servers }) => servers.length === 2);
  await first.close();
  // Resources that only this server served must not become a 404 because of a restart.
  await b.close();
  const second = await cluster.startRouter(a, flags);
  const again = askRouter(context, second.origin, cluster);
  const restored = await again.status();
  assert.equal(restored.snapshot?.generation, before.snapshot?.generation);
  const told = await eventuallyReturns(
    again.status,
    ({ servers }) => servers.find(({ id }) => id === b.serverId)?.departedAt !== null,
  );
  assert.ok((told.snapshot?.generation ?? 0) > (before.snapshot?.generation ?? 0));
  assert.equal((await again.explain(flowSchemas)).reason, 'ServerDeparted');
  await second.close();

  await chmod(file, 0o666);
  const third = await cluster.startRouter(a, flags);
  const last = await eventuallyReturns(
    askRouter(context, third.origin, cluster).status,
    ({ snapshot }) => snapshot !== null,
  );
  assert.deepEqual(
    last.servers.map(({ id }) => id),
    [a.serverId],
  );
});

test('the metrics say when the kubeconfig expires; another one under the same name is taken on SIGHUP, and one that is of no use is not', async (context) => {
  const cluster = await syncCluster(context);
  const other = await syncCluster(context, { hasOwnAuthorities: true });
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  await other.startServer({ version: '1.36', name: 'other' });
  const kubeconfig = await cluster.kubeconfig(a);
  const whole = await readFile(kubeconfig, 'utf8');
  const router = await startRouterProcess(context, cluster, a, {
    kubeconfig: [kubeconfig],
    'snapshot-keys': undefined,
  });
  const client = askRouter(context, `https://127.0.0.1:${router.port}`, cluster);
  await eventuallyReturns(client.status, ({ servers }) => servers.length === 1);
  const { validToDate } = new X509Certificate(await readFile(cluster.certificates.sync.certificate, 'utf8'));
  const labels = { flag: '--kubeconfig', path: kubeconfig };
  const expiry = 'mixed_version_proxy_certificate_expiration_timestamp_seconds';
  assert.equal(
    sampleValue(parseScrape(await client.metrics()), expiry, labels),
    validToDate.getTime() / 1000,
  );
  await writeFile(kubeconfig, 'clusters: []');
  router.signal('SIGHUP');
  await eventually(() => /cannot be used, the old content stays/.test(router.log()));
  assert.equal((await client.status()).servers.length, 1);
  // As somebody whom the servers do not know.
  const stranger = await other.kubeconfig(a);
  await writeFile(
    kubeconfig,
    (await readFile(stranger, 'utf8')).replaceAll(
      other.certificates.clusterCa,
      cluster.certificates.clusterCa,
    ),
  );
  router.signal('SIGHUP');
  const refused = await eventuallyReturns(client.status, ({ warnings }) =>
    warnings.some((warning) => warning.includes('cannot be read')),
  );
  assert.match(refused.warnings.join('; '), /cannot be read/);
  assert.equal(refused.servers.length, 1);
  await writeFile(kubeconfig, whole);
  router.signal('SIGHUP');
  await eventuallyReturns(client.status, ({ warnings }) => warnings.length === 0);
  router.signal('SIGTERM');
  assert.equal(await router.ended, 0);
});

test('authorities, certificates and keys that are replaced while a router runs reach its reader, its watches and its clients', async (context) => {
  const cluster = await syncCluster(context);
  const a = await cluster.startServer({ version: '1.26', name: 'cp-a' });
  const { origin, reload } = await cluster.startRouter(a, await readingBy(cluster, a), {
    source: (own) => own,
  });
  const before = askRouter(context, origin, cluster);
  await eventuallyReturns(before.status, ({ servers }) => servers.length === 1);

  // Certificates of authorities that have nothing in common with those before, under the same names.
  const folder = join(cluster.directory, 'next');
  const next = await createDemoCertificates(folder);
  await cp(folder, join(cluster.directory, 'pki'), { recursive: true });
  await cluster.kubeconfig(a);
  const read = (path: string) => readFile(path, 'utf8');
  const certificateAuthorities = await read(next.clusterCa);
  const renewed = {
    tls: { cert: await read(next.apiServer.certificate), key: await read(next.apiServer.privateKey) },
    clientCa: certificateAuthorities,
    requestHeaderCa: await read(next.frontProxyCa),
  };
  await a.close();
  await cluster.startServer({ version: '1.36', name: 'cp-a', port: a.port, ...renewed });
  await reload();
  const after = askRouter(context, origin, {
    ...cluster,
    credentials: { ...cluster.credentials, certificateAuthorities },
  });
  await eventuallyReturns(
    after.explain.bind(undefined, flowSchemas),
    ({ reason }) => reason === 'ServedLocally',
  );
  // By a watch, which was opened anew: a server that comes.
  const b = await cluster.startServer({ version: '1.36', name: 'cp-b', ...renewed });
  const { servers, warnings } = await eventuallyReturns(after.status, (status) =>
    status.servers.some(({ id, stale }) => id === b.serverId && !stale),
  );
  assert.deepEqual([servers.map(({ stale }) => stale), warnings], [[false, false], []]);
});

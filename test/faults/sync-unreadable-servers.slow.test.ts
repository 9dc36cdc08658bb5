import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { test } from 'node:test';
import { classicResponses } from '../support/api-servers/fake-server-documents.ts';
import { httpsServer } from '../support/api-servers/https-server.ts';
import { askRouter, eventuallyReturns, startSync, syncCluster } from '../support/clusters/sync-cluster.ts';

// Real HTTPS on both sides: a server that can be made to fail in the middle of its life, and a router that must go
// on sending to it what it alone serves.

const own = classicResponses({ v1: ['pods'], 'example.com/v1': ['widgets'] });
const widgets = '/apis/example.com/v1/widgets';

type Fault = (request: IncomingMessage, response: ServerResponse) => void;

const respond: Fault = ({ url }, response) => {
  const document = own[url?.split('?')[0] ?? ''];
  response.writeHead(document === undefined ? 404 : 200, { 'content-type': 'application/json' });
  response.end(JSON.stringify(document ?? { kind: 'Status', code: 404 }));
};

/** One of each kind; what else a server can say is read in src/sync/documents/read-server.test.ts. */
const faults: Readonly<Record<string, Fault>> = {
  'hangs in the middle of a document': (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
    response.write('{"kind":"APIGroupList","groups":[');
  },
  'returns 500': (_request, response) => {
    response.writeHead(500, { 'content-type': 'application/json' });
    response.end('{"kind":"Status","code":500}');
  },
  'breaks the connection off': ({ socket }) => socket.destroy(),
  'lists nothing, as a server that is still starting': ({ url }, response) => {
    const empty = url?.startsWith('/apis') === true ? { kind: 'APIGroupList', groups: [] } : {};
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ kind: 'APIVersions', versions: [], ...empty }));
  },
};

for (const [name, fault] of Object.entries(faults)) {
  test(`a server that ${name} keeps its routes, marked stale, until it can be read again`, async (context) => {
    const cluster = await syncCluster(context);
    const local = await cluster.startServer({ version: '1.26', name: 'local' });
    // The router does not look for itself: one that it finds broken gets no requests, whatever the sync job says.
    const router = await cluster.startRouter(local, { 'health-check-interval': ['0s'] });
    let behaviour = respond;
    const { apiServer } = cluster.certificates;
    const tls = {
      cert: await readFile(apiServer.certificate, 'utf8'),
      key: await readFile(apiServer.privateKey, 'utf8'),
    };
    const { port } = await httpsServer(context, tls, (request, response) => behaviour(request, response));
    const { loop } = await startSync(context, {
      ...cluster.credentials,
      servers: [
        { id: local.serverId, url: local.url },
        { id: 'failing', url: `https://127.0.0.1:${port}` },
      ],
      routers: [{ url: router.origin }],
      timing: { interval: 50, readTimeout: 300, longestWait: 100 },
    });
    const client = askRouter(context, router.origin, cluster);
    await eventuallyReturns(
      () => client.explain(widgets),
      ({ decision }) => decision === 'peer',
    );
    const generation = (await client.status()).snapshot?.generation ?? 0;

    behaviour = fault;
    const isStale = ({ id, stale }: { id: string; stale: boolean }) => id === 'failing' && stale;
    await eventuallyReturns(client.status, ({ servers }) => servers.some(isStale));
    // Some more rounds of it: nothing is lost with time either.
    const failures = () => loop.status().lastRoundAt ?? 0;
    const since = failures();
    await eventuallyReturns(
      async () => failures(),
      (at) => at > since + 500,
    );
    const { decision, candidates } = await client.explain(widgets);
    assert.deepEqual([decision, candidates.map(({ id }) => id)], ['peer', ['failing']]);

    behaviour = respond;
    const healthy = await eventuallyReturns(client.status, ({ servers }) => !servers.some(isStale));
    assert.ok((healthy.snapshot?.generation ?? 0) > generation);
  });
}

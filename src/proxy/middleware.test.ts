import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hono } from 'hono';
import { localId, mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { receiverHolding } from '../../test/support/routers/test-app.ts';
import type { HandlerEnvironment } from '../request/inbound.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { mixedVersionProxy } from './middleware.ts';

/** Somebody's own API server, with the filter in front of its handlers. */
async function apiServer(snapshot?: Snapshot) {
  const transport = recordingTransport();
  const app = new Hono<HandlerEnvironment>();
  app.use(
    mixedVersionProxy({
      local: {
        kind: 'local',
        id: localId,
        origin: 'https://127.0.0.1:6444',
        serverName: 'kubernetes.default.svc',
        trust: { kind: 'peer-ca' },
      },
      routingTable: await receiverHolding(snapshot),
      transport,
    }),
  );
  app.get('/api/v1/pods', () => Response.json({ kind: 'PodList', served: 'here' }));
  app.get('/apis', () => Response.json({ kind: 'APIGroupList', groups: [] }));
  app.get(
    '/apis/batch',
    () =>
      new Response('{}', { headers: { 'content-length': '2', 'content-encoding': 'gzip', etag: '"local"' } }),
  );
  app.get('/api', () => Response.json({ kind: 'Status', code: 403 }, { status: 403 }));
  return { app, transport };
}

test('what the local handlers serve never leaves', async () => {
  const { app, transport } = await apiServer(mixedCluster);
  const response = await app.request('https://own.example/api/v1/pods');
  assert.equal(((await response.json()) as { served: string }).served, 'here');
  assert.deepEqual(transport.sent, []);
});

test('what only a peer serves goes to that peer', async () => {
  const { app, transport } = await apiServer(mixedCluster);
  assert.equal((await app.request('https://own.example/apis/batch/v1/jobs')).status, 200);
  assert.equal(transport.sent[0]?.destination.kind, 'peer');
});

test('a 404 of the local handlers becomes a 503 while nothing is known of the cluster', async () => {
  const { app } = await apiServer();
  const response = await app.request('https://own.example/apis/batch/v1/jobs');
  assert.equal(response.status, 503);
  assert.equal(response.headers.get('retry-after'), '1');
  assert.equal((await app.request('https://own.example/api/v1/pods')).status, 200);
});

test('discovery of the local handlers is replaced by that of the whole cluster', async () => {
  const { app } = await apiServer(mixedCluster);
  const document = (await (await app.request('https://own.example/apis')).json()) as {
    groups: { name: string }[];
  };
  assert.deepEqual(
    document.groups.map(({ name }) => name),
    ['batch'],
  );
});

test('nothing of a replaced answer is left: not its length, its coding or its ETag', async () => {
  const { app } = await apiServer(mixedCluster);
  const response = await app.request('https://own.example/apis/batch');
  const document = await response.text();
  assert.equal(response.headers.get('content-length'), String(document.length));
  assert.equal(response.headers.get('content-encoding'), null);
  assert.notEqual(response.headers.get('etag'), '"local"');
  assert.equal((JSON.parse(document) as { name: string }).name, 'batch');
});

test('a caller who may not read discovery is not given the merged document either', async () => {
  const { app } = await apiServer(mixedCluster);
  assert.equal((await app.request('https://own.example/api')).status, 403);
});

test('an ambiguous path reaches no handler', async () => {
  const { app, transport } = await apiServer(mixedCluster);
  // The web's own URL parser has resolved plain dot segments by now; an encoded backslash it leaves.
  const response = await app.request('https://own.example/api/v1/pods%5c..%5csecrets');
  assert.equal(response.status, 400);
  assert.deepEqual(transport.sent, []);
});

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { Agent, request } from 'undici';
import type { ExampleApiServer } from '../../demo/example-api-server/index.ts';
import { MergedOpenApiV2 } from '../../src/discovery/openapi-v2/merged-openapi-v2.ts';
import { OpenApiV3Indexes } from '../../src/discovery/openapi-v3/openapi-v3-indexes.ts';
import type { ReadServerDocument } from '../../src/discovery/server-documents/sources.ts';
import { silentLogger } from '../../src/runtime/logger.ts';
import { buildRoutingTable } from '../../src/snapshot/routing-table/build-routing-table.ts';
import { clusterAuthority, clusterClient, exampleCluster } from '../support/example-cluster.ts';
import { snapshotOf } from '../support/snapshot-builder.ts';

/** What comes and goes in a running server as a CustomResourceDefinition does. */
const added = 'batch/v1';

/** Documents merged over two example API servers of different versions, by a clock that stands still. */
async function setUp(context: TestContext) {
  const cluster = await exampleCluster(context);
  const options = { disabledGroupVersions: [added] };
  const older = await cluster.start('older', '1.26', options);
  const newer = await cluster.start('newer', '1.36', options);
  const urls = new Map([older, newer].map(({ serverId, url }) => [serverId, url]));
  const dispatcher = new Agent({
    connect: {
      ca: clusterAuthority,
      cert: clusterClient.certificate,
      key: clusterClient.key,
      servername: 'kubernetes.default.svc',
    },
  });
  context.after(() => dispatcher.close());
  let asked = 0;
  const read: ReadServerDocument = async ({ server, path, accept, ifNoneMatch }) => {
    asked++;
    const headers = { accept, ...(ifNoneMatch === undefined ? {} : { 'if-none-match': ifNoneMatch }) };
    const answer = await request(`${urls.get(server.id)}${path}`, { dispatcher, headers });
    const { 'content-type': contentType, etag } = answer.headers;
    return {
      status: answer.statusCode,
      contentType: String(contentType ?? ''),
      etag: typeof etag === 'string' ? etag : undefined,
      body: new Uint8Array(await answer.body.arrayBuffer()),
    };
  };
  const clock = { now: 0 };
  const common = { read, clock: () => clock.now, logger: silentLogger, localServerId: () => older.serverId };
  const v2 = new MergedOpenApiV2(common);
  const v3 = new OpenApiV3Indexes(common);
  const serves = (version: string, path: string) => ({ version, serves: [path], openapiV3: {} });
  const table = buildRoutingTable(
    snapshotOf({
      [older.serverId]: serves('v1.26.0', 'old/v1/things'),
      [newer.serverId]: serves('v1.36.0', 'new/v1/things'),
    }),
  );
  await v2.update(table);
  const isIn = async () => {
    const [json, index] = await Promise.all([v2.document('json'), v3.document(table, false)]);
    const text = (bytes: Uint8Array | undefined) => new TextDecoder().decode(bytes);
    return {
      v2: text(json?.body).includes('"io.k8s.api.batch.v1.Job"'),
      v3: `apis/${added}` in (JSON.parse(text(index?.body)) as { paths: object }).paths,
    };
  };
  return { older, newer, clock, isIn, asked: () => asked };
}

for (const which of ['older', 'newer'] as const) {
  test(`what an API server adds is in the merged documents a second later: the ${which} one`, async (context) => {
    const { clock, isIn, ...servers } = await setUp(context);
    const server: ExampleApiServer = servers[which];
    assert.deepEqual(await isIn(), { v2: false, v3: false });
    server.setGroupVersion(added, true);
    clock.now = 1_000;
    assert.deepEqual(await isIn(), { v2: true, v3: true });
    server.setGroupVersion(added, false);
    clock.now = 1_999;
    assert.deepEqual(await isIn(), { v2: true, v3: true });
    clock.now = 2_000;
    assert.deepEqual(await isIn(), { v2: false, v3: false });
  });
}

test('a hundred who ask at once get what was added, from one look at each server and document', async (context) => {
  const { newer, clock, isIn, asked } = await setUp(context);
  await isIn();
  const before = asked();
  newer.setGroupVersion(added, true);
  clock.now = 1_000;
  for (const found of await Promise.all(Array.from({ length: 100 }, isIn))) {
    assert.deepEqual(found, { v2: true, v3: true });
  }
  assert.equal(asked() - before, 4);
});

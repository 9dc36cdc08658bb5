import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { silentLogger } from '../../runtime/logger.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';
import { type ServerDocument, ServerDocumentError } from '../server-documents/sources.ts';
import { OpenApiV3Indexes } from './openapi-v3-indexes.ts';

const urlOf = (path: string, hash: string) => `/openapi/v3/${path}?hash=${hash}`;
const inSnapshot = (hash: string) => ({ 'apis/apps/v1': urlOf('apis/apps/v1', hash) });
const servers = {
  older: { version: 'v1.31.0', serves: ['apps/v1/deployments'], openapiV3: inSnapshot('0A') },
  newer: {
    version: 'v1.36.0',
    serves: ['apps/v1/deployments', 'apps/v1/daemonsets'],
    openapiV3: inSnapshot('0B'),
  },
};
const table = buildRoutingTable(snapshotOf(servers));

/** As kube-apiserver answers: without an ETag, its type left to Go's guess (kube-openapi pkg/handler3). */
function index(urls: Readonly<Record<string, string>>): ServerDocument {
  const paths = Object.fromEntries(
    Object.entries(urls).map(([path, serverRelativeURL]) => [path, { serverRelativeURL }]),
  );
  const body = new TextEncoder().encode(JSON.stringify({ paths }));
  return { status: 200, contentType: 'text/plain; charset=utf-8', etag: undefined, body };
}

function underTest() {
  const answers = new Map<string, () => ServerDocument | Promise<ServerDocument>>();
  for (const [id, { openapiV3 }] of Object.entries(servers)) answers.set(id, () => index(openapiV3));
  const clock = { now: 0 };
  const asked: string[] = [];
  const indexes = new OpenApiV3Indexes({
    async read({ server, path }) {
      asked.push(`${server.id} ${path}`);
      const answer = answers.get(server.id);
      if (answer === undefined) throw new ServerDocumentError('The server did not respond: ConnectFailed.');
      return answer();
    },
    clock: () => clock.now,
    logger: silentLogger,
    localServerId: () => 'older',
  });
  const paths = async (of: RoutingTable = table): Promise<Record<string, string>> => {
    const document = await indexes.document(of, false);
    const parsed = JSON.parse(new TextDecoder().decode(document?.body)) as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    return Object.fromEntries(
      Object.entries(parsed.paths).map(([path, { serverRelativeURL }]) => [path, serverRelativeURL]),
    );
  };
  return { answers, clock, asked, paths, indexes };
}

const withCustomResource = (hash: string) =>
  index({ ...inSnapshot(hash), 'apis/example.com/v1': urlOf('apis/example.com/v1', hash) });

test('a custom resource is in the index a second after it is at a server, before any snapshot has it', async () => {
  const { answers, clock, asked, paths } = underTest();
  assert.deepEqual(await paths(), inSnapshot('0B'));
  answers.set('older', () => withCustomResource('0A'));
  clock.now = 999;
  assert.deepEqual(Object.keys(await paths()), ['apis/apps/v1']);
  assert.equal(asked.length, 2);
  clock.now = 1_000;
  assert.equal((await paths())['apis/example.com/v1'], urlOf('apis/example.com/v1', '0A'));
  answers.set('newer', () => withCustomResource('0B'));
  clock.now = 2_000;
  assert.equal((await paths())['apis/example.com/v1'], urlOf('apis/example.com/v1', '0B'));
});

test('all who ask at the same time share one look, and get what it saw', async () => {
  const { answers, clock, asked, paths } = underTest();
  await paths();
  answers.set('newer', () => withCustomResource('0B'));
  clock.now = 10_000;
  const seen = await Promise.all(Array.from({ length: 50 }, () => paths()));
  assert.ok(seen.every((urls) => 'apis/example.com/v1' in urls));
  assert.equal(asked.length, 4);
});

test('an index that has not changed is the same document, ETag and all', async () => {
  const { clock, indexes } = underTest();
  const before = await indexes.document(table, false);
  clock.now = 10_000;
  assert.equal(await indexes.document(table, false), before);
  assert.notEqual(await indexes.document(table, true), before);
});

test('of a server that cannot be read the snapshot’s word holds, and of one that could be its own', async () => {
  const { answers, clock, asked, paths } = underTest();
  answers.delete('newer');
  assert.deepEqual(await paths(), inSnapshot('0B'));
  answers.set('newer', () => withCustomResource('0C'));
  clock.now = 9_000;
  assert.deepEqual(await paths(), inSnapshot('0B'));
  assert.equal(asked.filter((each) => each.startsWith('newer')).length, 1);
  clock.now = 10_000;
  assert.equal((await paths())['apis/apps/v1'], urlOf('apis/apps/v1', '0C'));
  answers.set('newer', () => ({ ...withCustomResource('0D'), status: 503 }));
  clock.now = 20_000;
  assert.equal((await paths())['apis/apps/v1'], urlOf('apis/apps/v1', '0C'));
  answers.set('newer', () => ({ ...withCustomResource('0D'), body: new TextEncoder().encode('<html>') }));
  clock.now = 40_000;
  assert.equal((await paths())['apis/apps/v1'], urlOf('apis/apps/v1', '0C'));
});

test('a new snapshot is looked at anew, with its servers', async () => {
  const { paths } = underTest();
  await paths();
  const next = buildRoutingTable(
    snapshotOf({
      ...servers,
      third: { serves: ['a/v1/b'], openapiV3: { 'apis/a/v1': urlOf('apis/a/v1', '0F') } },
    }),
  );
  assert.deepEqual(Object.keys(await paths(next)), ['apis/a/v1', 'apis/apps/v1']);
});

test('a request that still holds the snapshot before leaves nothing of it in the index of the next one', async () => {
  const { answers, paths } = underTest();
  answers.clear();
  const [before, after] = ['0A', '0B'].map((hash) =>
    buildRoutingTable(
      snapshotOf({ older: { serves: ['apps/v1/deployments'], openapiV3: inSnapshot(hash) } }),
    ),
  );
  const both = await Promise.all([paths(before), paths(after)]);
  assert.deepEqual(both, [inSnapshot('0A'), inSnapshot('0B')]);
});

test('a broken index that is read twice before it is used does not cost what was read before it', async () => {
  const { answers, clock, paths } = underTest();
  answers.set('newer', () => withCustomResource('0C'));
  await paths();
  const begun = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<void>();
  answers.set('newer', async () => {
    begun.resolve();
    await slow.promise;
    return { ...index({}), body: new TextEncoder().encode('<html>') };
  });
  clock.now = 1_000;
  const first = paths();
  await begun.promise;
  // What the first look has read is of another snapshot, and is not used.
  const second = paths(buildRoutingTable(snapshotOf({ ...servers, third: ['a/v1/b'] })));
  slow.resolve();
  await first;
  assert.equal((await second)['apis/example.com/v1'], urlOf('apis/example.com/v1', '0C'));
});

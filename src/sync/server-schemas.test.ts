import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { type TestContext, test } from 'node:test';
import {
  aggregatedResponse,
  type FakeServer,
  fakeServer,
  hangs,
  jsonDocument,
  refusesConnections,
} from '../../test/support/api-servers/fake-server-documents.ts';
import { clusterOf } from '../../test/support/clusters/cluster-states.ts';
import { manualClock, settle } from '../../test/support/manual-clock.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import type { ServedSet, Snapshot } from '../snapshot/format/schema.ts';
import { ClusterReader } from './round.ts';
import type { SyncParts } from './sync-parts.ts';

type Fields = Readonly<Record<string, string>>;

interface Served {
  readonly version: string;
  /** Group to the fields that its only kind has. */
  readonly groups: Readonly<Record<string, Fields>>;
  /** True if URLs name what is behind them. Default true. */
  readonly hashes?: boolean;
}

const fieldsOf = (fields: Fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, type]) => [name, { type }]));

function openApiDocument(group: string, fields: Fields): object {
  const gvk = [{ group, version: 'v1', kind: 'Thing' }];
  const thing = { type: 'object', properties: fieldsOf(fields), 'x-kubernetes-group-version-kind': gvk };
  return { openapi: '3.0.0', components: { schemas: { Thing: thing } } };
}

function responsesOf({ version, groups, hashes = true }: Served): Record<string, object> {
  const things = (name: string) => ({
    metadata: { name },
    versions: [
      {
        version: 'v1',
        resources: [
          {
            resource: 'things',
            responseKind: { group: name, version: 'v1', kind: 'Thing' },
            scope: 'Namespaced',
            verbs: ['get'],
          },
        ],
      },
    ],
  });
  const urls = Object.entries(groups).map(([group, fields]) => {
    const hash = hashes ? `?hash=${Buffer.from(JSON.stringify(fields)).toString('hex')}` : '';
    return [`apis/${group}/v1`, { serverRelativeURL: `/openapi/v3/apis/${group}/v1${hash}` }] as const;
  });
  return {
    '/api': aggregatedResponse([]),
    '/apis': aggregatedResponse(Object.keys(groups).map(things)),
    '/version': { gitVersion: version },
    '/openapi/v3': { paths: Object.fromEntries(urls) },
    '/apis/apiregistration.k8s.io/v1/apiservices': { kind: 'APIServiceList', items: [] },
    '/apis/apiextensions.k8s.io/v1/customresourcedefinitions': {
      kind: 'CustomResourceDefinitionList',
      items: [],
    },
    ...Object.fromEntries(
      Object.entries(groups).map(([group, fields]) => [
        `/openapi/v3/apis/${group}/v1`,
        openApiDocument(group, fields),
      ]),
    ),
  };
}

const older: Served = { version: 'v1.31.0', groups: { apps: { a: 'string' }, batch: { b: 'string' } } };
const newer: Served = {
  version: 'v1.36.0',
  groups: { apps: { a: 'string', c: 'string' }, batch: { b: 'string' } },
};

/**
 * Timers fire when the test says so. Work that took long, as it does on a busy machine, would rest by such a timer, and
 * a hash that is made beside the event loop would come at any time: neither happens here.
 */
function holdTimers({ mock }: TestContext): void {
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(performance, 'now', () => 0);
  mock.method(crypto.subtle, 'digest', async (_algorithm: string, data: Uint8Array) => {
    const { buffer, byteOffset, byteLength } = createHash('sha256').update(data).digest();
    return buffer.slice(byteOffset, byteOffset + byteLength);
  });
}

/** A cluster, and rounds over it that go on from each other. */
function setUp(served: Readonly<Record<string, Served>>, options: Partial<SyncParts> = {}) {
  const clock = manualClock();
  const servers = new Map(Object.entries(served).map(([id, each]) => [id, fakeServer(responsesOf(each))]));
  const reader = new ClusterReader({
    clusterSource: clusterOf(
      [...servers].map(([id, documents]) => ({ id, documents, address: `${id}.example.com:6443` })),
    ),
    targets: [],
    clock,
    ...options,
  });
  let previous: Snapshot | undefined = options.previous;
  const state = {
    clock,
    server: (id: string): FakeServer => servers.get(id) ?? assert.fail(`no server ${id}`),
    /** Makes it another server at the same place. */
    become(id: string, other: Served) {
      const { responses } = state.server(id);
      responses.clear();
      for (const [path, response] of Object.entries(responsesOf(other))) responses.set(path, response);
    },
    /** Documents of group versions that were asked for. */
    asked: () =>
      [...servers.values()].flatMap(({ asked }) => asked.filter((path) => path.startsWith('/openapi/v3/'))),
    async round(longestWait: number | undefined = undefined) {
      const waitsForSchemas = longestWait === undefined;
      const { signal } = new AbortController();
      const outcome = await reader.round({ previous, longestWait, waitsForSchemas }, signal);
      previous = outcome.snapshot;
      return outcome;
    },
    /** Until a server that was lost has said something. */
    async news() {
      const { signal } = new AbortController();
      const heard = reader.readers.untilNews(signal, signal);
      await clock.advance(300);
      await heard;
    },
    /** Schemas in the snapshot, by server. */
    schemas(): Record<string, ServedSet['schemas']> {
      const listed = previous?.servers.map(
        ({ id, serves }) => [id, previous?.servedSets[serves]?.schemas] as const,
      );
      return Object.fromEntries(listed ?? []);
    },
    snapshot: () => previous,
  };
  return state;
}

test('with one minor version no document is read, and the snapshot has no schemas', async () => {
  const cluster = setUp({ a: older, b: { ...older, version: 'v1.31.9' } });
  await cluster.round();
  assert.deepEqual(cluster.asked(), []);
  assert.deepEqual(cluster.schemas(), { a: undefined, b: undefined });
});

test('with a second version each document is read once, and digests differ where the kinds do', async () => {
  const cluster = setUp({ a: older, b: older, c: older });
  await cluster.round();
  cluster.become('c', newer);
  for (let round = 0; round < 3; round++) await cluster.round();
  const { a, b, c } = cluster.schemas();
  assert.deepEqual(Object.keys(a ?? {}), ['apps.things', 'batch.things']);
  assert.deepEqual(a, b);
  assert.deepEqual(a?.['batch.things'], c?.['batch.things']);
  assert.notDeepEqual(a?.['apps.things'], c?.['apps.things']);
  // Two of apps; that of batch has one hash in both versions.
  assert.equal(cluster.asked().length, 3);
  assert.equal(new Set(cluster.asked()).size, 3);

  // A server of either version that comes later needs nothing more.
  cluster.become('b', newer);
  await cluster.round();
  assert.deepEqual(cluster.schemas()['b'], c);
  assert.equal(cluster.asked().length, 3);
});

test('when all have one version again, the snapshot has no schemas', async () => {
  const cluster = setUp({ a: older, b: newer });
  const before = setUp({ a: newer, b: newer });
  await cluster.round();
  cluster.become('a', newer);
  await cluster.round();
  await before.round();
  assert.deepEqual(cluster.schemas(), { a: undefined, b: undefined });
  assert.deepEqual(cluster.snapshot()?.servedSets, before.snapshot()?.servedSets);
});

test('a server that cannot be read keeps its schemas, and loses them with the others', async () => {
  const cluster = setUp({ a: older, b: newer });
  await cluster.round();
  const { a } = cluster.schemas();
  cluster.server('a').responses.set('/apis', refusesConnections);
  await cluster.round();
  assert.deepEqual(cluster.schemas()['a'], a);
  // The server has the version of the other one by what is known of it, and there is nothing to compare.
  cluster.become('b', older);
  await cluster.round();
  assert.equal(cluster.snapshot()?.servers[0]?.stale, true);
  assert.deepEqual(cluster.schemas(), { a: undefined, b: undefined });
});

test('what a server that cannot be read would say of its schemas is known from another one of its version', async () => {
  const cluster = setUp({ a: older, b: older, c: older });
  await cluster.round();
  cluster.server('b').responses.set('/apis', refusesConnections);
  cluster.become('c', newer);
  await cluster.round();
  const { a, b, c } = cluster.schemas();
  assert.notEqual(a, undefined);
  assert.deepEqual(b, a);
  assert.notDeepEqual(c, a);
  cluster.server('a').responses.set('/apis', refusesConnections);
  await cluster.round();
  assert.deepEqual(cluster.schemas(), { a, b, c });
});

test('what an earlier run knew of documents with a hash is not read again', async () => {
  const cluster = setUp({ a: older, b: newer });
  await cluster.round();
  const next = setUp({ a: older, b: newer }, { previous: cluster.snapshot() });
  await next.round();
  assert.deepEqual(next.schemas(), cluster.schemas());
  assert.deepEqual(next.asked(), []);
});

test('a document that cannot be read is a warning, its resources are unknown, and it is read again after half a minute', async () => {
  const cluster = setUp({ a: older, b: newer });
  cluster.server('b').responses.set('/openapi/v3/apis/apps/v1', refusesConnections);
  const { warnings } = await cluster.round();
  assert.deepEqual(
    warnings.filter((warning) => warning.includes('OpenAPI')),
    [
      '1 of 2 OpenAPI v3 documents of server b cannot be read, so their resources count as different from those of other versions: connection refused',
    ],
  );
  assert.deepEqual(Object.keys(cluster.schemas()['b'] ?? {}), ['batch.things']);
  const asked = cluster.asked().length;
  await cluster.round();
  assert.equal(cluster.asked().length, asked);

  cluster.become('b', newer);
  await cluster.clock.advance(30_000);
  await cluster.round();
  assert.equal(cluster.asked().length, asked + 1);
  assert.deepEqual(Object.keys(cluster.schemas()['b'] ?? {}).sort(), ['apps.things', 'batch.things']);
});

test('a document that one server does not return is read from another that has it', async () => {
  const cluster = setUp({ a: older, b: newer, c: newer });
  cluster.server('b').responses.set('/openapi/v3/apis/apps/v1', refusesConnections);
  await cluster.round();
  await cluster.clock.advance(30_000);
  await cluster.round();
  assert.deepEqual(Object.keys(cluster.schemas()['b'] ?? {}).sort(), ['apps.things', 'batch.things']);
});

test('a document of something else is one that could not be read', async () => {
  const cluster = setUp({ a: older, b: newer });
  cluster.server('b').responses.set('/openapi/v3/apis/apps/v1', openApiDocument('batch', {}));
  const { warnings } = await cluster.round();
  assert.deepEqual(Object.keys(cluster.schemas()['b'] ?? {}), ['batch.things']);
  assert.match(warnings.join(), /1 of 2 OpenAPI v3 documents of server b .* no kind of apps\/v1/);
});

test('a document that is larger than any is not parsed', async () => {
  const cluster = setUp({ a: older, b: newer });
  const { responses } = cluster.server('b');
  const large = JSON.stringify(openApiDocument('apps', {})) + ' '.repeat(16 * 1024 * 1024);
  responses.set('/openapi/v3/apis/apps/v1', () => ({
    status: 200,
    contentType: 'application/json',
    body: large,
  }));
  const { warnings } = await cluster.round();
  assert.match(warnings.join(), /1 of 2 OpenAPI v3 documents of server b .* more than 16777216 characters/);
});

test('a document that hangs holds up no round: the version counts at once, and digests follow when it is given up', async (context) => {
  const cluster = setUp({ a: older, b: older });
  await cluster.round();
  cluster.become('b', newer);
  cluster.server('b').responses.set('/openapi/v3/apis/apps/v1', hangs);
  holdTimers(context);
  const { moreSchemas } = await cluster.round(2_000);
  assert.equal(cluster.snapshot()?.servers[1]?.version, newer.version);
  assert.deepEqual(cluster.schemas(), { a: undefined, b: undefined });
  assert.notEqual((await cluster.round(2_000)).moreSchemas, undefined);
  assert.deepEqual(cluster.schemas(), { a: undefined, b: undefined });

  context.mock.timers.tick(30_000);
  await moreSchemas;
  assert.equal((await cluster.round(2_000)).moreSchemas, undefined);
  const { a, b } = cluster.schemas();
  assert.deepEqual(
    [Object.keys(a ?? {}), Object.keys(b ?? {})],
    [['apps.things', 'batch.things'], ['batch.things']],
  );
});

test('a restarted server of the same version keeps its schemas; one of another version never those of the one before', async (context) => {
  const cluster = setUp({ a: older, b: newer, c: newer });
  await cluster.round();
  const before = cluster.schemas();
  const next: Served = { ...newer, groups: { apps: { d: 'string' }, batch: { b: 'string' } } };
  holdTimers(context);
  for (const [version, expected] of [
    ['v1.36.0', before['b']],
    ['v1.37.0', undefined],
  ] as const) {
    cluster.become('b', { ...next, version });
    cluster.server('b').responses.set('/openapi/v3/apis/apps/v1', hangs);
    await cluster.round(2_000);
    assert.deepEqual(cluster.schemas()['b'], expected, version);
    assert.deepEqual(cluster.schemas()['a'], before['a']);
  }
});

test('a document whose URL has no hash is not read, so its resources count as different', async () => {
  const cluster = setUp({ a: older, b: { ...newer, hashes: false } });
  await cluster.round();
  assert.deepEqual(cluster.schemas()['b'], {});
  assert.equal(
    cluster.asked().some((path) => !path.includes('hash')),
    false,
  );
});

test('custom resources and those of extension API servers are not among them', async () => {
  const previous = {
    ...snapshotOf({ a: [] }),
    apiServices: [{ group: 'batch', version: 'v1', service: { namespace: 'a', name: 'b' }, available: true }],
  };
  const cluster = setUp({ a: older, b: newer }, { previous });
  await cluster.round();
  assert.deepEqual(Object.keys(cluster.schemas()['a'] ?? {}), ['apps.things']);
  assert.equal(
    cluster.asked().some((path) => path.includes('batch')),
    false,
  );
});

test('as many documents as a server may name are read and remembered, and no more', async () => {
  const groups = Object.fromEntries(
    Array.from({ length: 4_100 }, (_, index) => [`g${index}.example.com`, { a: 'string' }]),
  );
  const cluster = setUp({ a: { version: 'v1.31.0', groups }, b: newer });
  await cluster.round();
  await cluster.round();
  assert.equal(cluster.asked().length, 4_000);
  assert.equal(Object.keys(cluster.schemas()['a'] ?? {}).length, 4_000);
});

test('the schemas of a server of another version are read while it starts, and compared in the round in which it is ready', async (context) => {
  holdTimers(context);
  const cluster = setUp({ a: older, b: older });
  await cluster.round();
  const starting = cluster.server('b').responses;
  starting.clear();
  await cluster.round(2_000);
  cluster.become('b', newer);
  starting.set('/readyz', () => jsonDocument({}, 500));
  await cluster.news();
  // The starting server does not count yet: all that are known have one version.
  await cluster.round(0);
  assert.deepEqual(cluster.schemas(), { a: undefined, b: undefined });
  await settle();
  assert.equal(cluster.asked().length, 3);

  starting.set('/readyz', () => jsonDocument({}));
  await cluster.news();
  const { moreSchemas, changed } = await cluster.round(0);
  assert.deepEqual([moreSchemas, changed], [undefined, true]);
  const { a, b } = cluster.schemas();
  assert.notDeepEqual(a?.['apps.things'], b?.['apps.things']);
  assert.deepEqual(a?.['batch.things'], b?.['batch.things']);
  assert.equal(cluster.asked().length, 3);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  aggregatedResponse,
  classicResponses,
  type FakeServer,
  fakeServer,
  jsonDocument,
  plainNotFound,
  refusesConnections,
} from '../../test/support/api-servers/fake-server-documents.ts';
import { listResponse, scriptedWatch } from '../../test/support/api-servers/scripted-watch.ts';
import { clusterOf } from '../../test/support/clusters/cluster-states.ts';
import { eventually } from '../../test/support/eventually.ts';
import { manualClock } from '../../test/support/manual-clock.ts';
import { silentLogger } from '../runtime/logger.ts';
import { systemClock } from '../runtime/time.ts';
import { snapshotLimits } from '../snapshot/format/limits.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import type { DeliveryResult, SnapshotTarget } from './deliver.ts';
import { WatchedCluster } from './reading/cluster-source.ts';
import { SyncLoop } from './sync-loop.ts';
import { runOnce } from './sync-once.ts';
import type { SyncParts } from './sync-parts.ts';

const older = classicResponses({ v1: ['pods'], 'autoscaling/v2beta2': ['horizontalpodautoscalers'] });
const newer = classicResponses({ v1: ['pods'], 'autoscaling/v2': ['horizontalpodautoscalers'] });

/** Takes what rises, as a router does. */
function recordingTarget(response: () => DeliveryResult = () => ({ kind: 'accepted' })) {
  const taken: Snapshot[] = [];
  return {
    taken,
    name: 'router',
    async put({ snapshot }: { snapshot: Snapshot }) {
      const result = response();
      const isNew = snapshot.metadata.generation > (taken.at(-1)?.metadata.generation ?? 0);
      if (result.kind === 'accepted' && isNew) taken.push(snapshot);
      return result;
    },
  };
}

function optionsFor(servers: Readonly<Record<string, FakeServer>>, rest: Partial<SyncParts>): SyncParts {
  return {
    clusterSource: clusterOf(
      Object.entries(servers).map(([id, documents]) => ({
        id,
        address: `${id}.example.com:6443`,
        documents,
      })),
    ),
    targets: [],
    ...rest,
  };
}

function start(options: SyncParts) {
  const clock = manualClock();
  const warnings: string[] = [];
  const loop = new SyncLoop({
    ...options,
    clock,
    logger: { ...silentLogger, warn: ({ warning }, message) => warnings.push(`${message}: ${warning}`) },
  });
  const controller = new AbortController();
  const running = loop.run(controller.signal);
  let rounds = 0;
  return {
    loop,
    clock,
    warnings,
    /** Waits until the round under way has ended, and begins the next. */
    async nextRound() {
      rounds++;
      await eventually(() => clock.sleeping.includes(1000));
      if (rounds > 1) {
        const before = loop.status().lastRoundAt;
        await clock.advance(1000);
        await eventually(() => loop.status().lastRoundAt !== before && clock.sleeping.includes(1000));
      }
    },
    async stop() {
      controller.abort();
      await running;
    },
  };
}

function serves(snapshot: Snapshot | undefined, id: string): string[] {
  const key = snapshot?.servers.find((server) => server.id === id)?.serves ?? '';
  return Object.entries(snapshot?.servedSets[key]?.storageVersions ?? {}).map(
    ([name, versions]) => `${name} ${versions}`,
  );
}

test('an upgrade and an error during it reach the router, and the error removes no route', async () => {
  const a = fakeServer(older);
  const b = fakeServer(older);
  const target = recordingTarget();
  const { loop, warnings, nextRound, stop } = start(optionsFor({ a, b }, { targets: [target] }));
  await nextRound();
  await eventually(() => target.taken.length === 1);
  const [first] = target.taken;
  assert.deepEqual(serves(first, 'a'), serves(first, 'b'));

  for (const [path, response] of Object.entries(newer)) b.responses.set(path, response);
  b.responses.delete('/apis/autoscaling/v2beta2');
  await nextRound();
  await eventually(() => target.taken.length === 2);
  const upgraded = ['core.pods v1', 'autoscaling.horizontalpodautoscalers v2'];
  assert.deepEqual(serves(target.taken[1], 'b'), upgraded);
  assert.equal(target.taken[1]?.metadata.generation, (first?.metadata.generation ?? 0) + 1);

  b.responses.set('/apis', refusesConnections);
  await nextRound();
  await eventually(() => target.taken.length === 3);
  assert.deepEqual(serves(target.taken[2], 'b'), upgraded);
  assert.equal(target.taken[2]?.servers[1]?.stale, true);
  assert.match(loop.status().servers[1]?.failure ?? '', /connection refused/);

  await nextRound();
  await stop();
  assert.equal(target.taken.length, 3);
  assert.equal(
    warnings.filter((warning) => warning.startsWith('A round ended with a warning: server b cannot be read'))
      .length,
    1,
  );
});

test('that a server has another version is published before its schemas are read, and nothing rests until they are', async () => {
  const document = Promise.withResolvers<void>();
  const pods = {
    metadata: { name: 'apps' },
    versions: [
      {
        version: 'v1',
        resources: [
          {
            resource: 'things',
            responseKind: { group: 'apps', version: 'v1', kind: 'Thing' },
            scope: 'Namespaced',
            verbs: ['get'],
          },
        ],
      },
    ],
  };
  const responses = (version: string) => ({
    '/api': aggregatedResponse([]),
    '/apis': aggregatedResponse([pods]),
    '/version': { gitVersion: version },
    '/openapi/v3': { paths: { 'apis/apps/v1': { serverRelativeURL: '/openapi/v3/apis/apps/v1?hash=A1' } } },
    '/openapi/v3/apis/apps/v1': async () => {
      await document.promise;
      return { status: 404, contentType: 'application/json', body: '' };
    },
  });
  const a = fakeServer(responses('v1.35.0'));
  const b = fakeServer(responses('v1.35.0'));
  const target = recordingTarget();
  const timing = { restInterval: 3_600_000 };
  const { clock, stop } = start(optionsFor({ a, b }, { targets: [target], timing }));
  await eventually(() => clock.sleeping.includes(1_000));
  await clock.advance(1_000);
  await eventually(() => clock.sleeping.includes(3_600_000));

  b.responses.set('/version', { gitVersion: 'v1.36.0' });
  await clock.advance(3_600_000);
  await eventually(() => target.taken.length === 2);
  const schemas = () => Object.values(target.taken.at(-1)?.servedSets ?? {}).map((set) => set.schemas);
  assert.equal(target.taken[1]?.servers[1]?.version, 'v1.36.0');
  assert.deepEqual(schemas(), [undefined]);
  // No time passes from here on.
  document.resolve();
  await eventually(() => target.taken.length === 3);
  assert.deepEqual(schemas(), [{}]);
  await stop();
});

test('a round in which no server could be read is no reading, and what that means for the cluster is told once', async () => {
  const a = fakeServer(older);
  const { loop, clock, warnings, nextRound, stop } = start(optionsFor({ a }, {}));
  await nextRound();
  const readAt = loop.status().lastReadAt;
  assert.equal(readAt, clock.now());
  a.responses.set('/apis', refusesConnections);
  await nextRound();
  const { lastRoundAt, lastReadAt } = loop.status();
  await stop();
  assert.equal(lastReadAt, readAt);
  assert.equal(lastRoundAt, clock.now());
  assert.equal(warnings.length, 1, warnings.join('\n'));
});

test('an unchanged snapshot is renewed while the cluster is read, and by no round that reads or makes nothing', async () => {
  const a = fakeServer(older);
  const { clusterSource } = optionsFor({ a }, {});
  let apiServices: ReturnType<typeof clusterSource.look>['objects']['apiServices'];
  const looking = () => {
    const view = clusterSource.look(new Map());
    return { ...view, objects: { ...view.objects, apiServices } };
  };
  const putAt: number[] = [];
  const target: SnapshotTarget = {
    name: 'router',
    async put({ snapshot }) {
      putAt.push(Date.parse(snapshot.metadata.createdAt));
      return { kind: 'accepted' };
    },
  };
  const { clock, nextRound, stop } = start({
    clusterSource: { ...clusterSource, look: looking },
    targets: [target],
    timing: { renewal: 1000 },
  });
  const rounds = async (count: number) => {
    for (let round = 0; round < count; round++) await nextRound();
    return clock.now();
  };
  const firstRead = await rounds(1);
  const lastRead = await rounds(3);
  assert.deepEqual(putAt, [firstRead, firstRead + 1000, firstRead + 2000, lastRead]);

  a.responses.set('/apis', refusesConnections);
  await rounds(3);
  // That the server is stale is news, and of that moment.
  assert.deepEqual(putAt.splice(4), [lastRead + 1000]);
  a.responses.set('/apis', older['/apis'] ?? {});
  await rounds(3);
  assert.ok(putAt.splice(4).length > 1, 'it is news again, and renewed again');

  apiServices = Array.from({ length: snapshotLimits.apiServices + 1 }, (_, index) => ({
    group: `g${index}.example.com`,
    version: 'v1',
    available: true,
  }));
  await rounds(3);
  assert.deepEqual(putAt.splice(4), [], 'the server is read, and what it says makes no snapshot');
  await stop();
});

test('the very first snapshot waits for the slowest server', async () => {
  const a = fakeServer(older);
  const b = fakeServer(newer);
  const released = Promise.withResolvers<void>();
  const slow: FakeServer = {
    ...b,
    get: async (...given) => {
      await released.promise;
      return b.get(...given);
    },
  };
  const target = recordingTarget();
  const { loop, clock, nextRound, stop } = start(optionsFor({ a, b: slow }, { targets: [target] }));
  await eventually(() => a.asked.includes('/apis'));
  await clock.advance(5_000);
  assert.equal(loop.status().lastRoundAt, undefined, 'the round goes on');
  released.resolve();
  await nextRound();
  await eventually(() => target.taken.length === 1);
  assert.deepEqual(serves(target.taken[0], 'b'), ['core.pods v1', 'autoscaling.horizontalpodautoscalers v2']);
  await stop();
});

test('a restart while a server is down keeps the server, from the snapshot of the earlier run', async () => {
  const previous = (await runOnce(optionsFor({ a: fakeServer(older), b: fakeServer(newer) }, {}), never))
    .snapshot;
  const target = recordingTarget();
  const servers = { a: fakeServer(older), b: fakeServer({ '/apis': refusesConnections }) };
  const { nextRound, stop } = start(optionsFor(servers, { targets: [target], previous }));
  await nextRound();
  await eventually(() => target.taken.length === 1);
  await stop();
  assert.deepEqual(serves(target.taken[0], 'b'), serves(previous, 'b'));
});

test('the snapshot of an earlier run is delivered without any change', async () => {
  const servers = { a: fakeServer(older) };
  const { snapshot: previous } = await runOnce(optionsFor(servers, {}), never);
  const target = recordingTarget();
  const { nextRound, stop } = start(optionsFor(servers, { targets: [target], previous }));
  await nextRound();
  await eventually(() => target.taken.length === 1);
  await stop();
  assert.equal(target.taken[0]?.metadata.generation, previous?.metadata.generation);
});

test('a target that is down does not keep snapshots from the others', async () => {
  const down = recordingTarget(() => ({ kind: 'unreachable', message: 'connection refused' }));
  const up = recordingTarget();
  const { loop, nextRound, stop } = start(optionsFor({ a: fakeServer(older) }, { targets: [down, up] }));
  await nextRound();
  await eventually(() => up.taken.length === 1 && (loop.status().targets[0]?.failures ?? 0) > 0);
  await stop();
  assert.equal(loop.status().targets[0]?.heldGeneration, undefined);
});

const never = new AbortController().signal;

test('one round returns the readings and the result of each delivery', async () => {
  const servers = { a: fakeServer(older), b: fakeServer({ '/apis': refusesConnections }) };
  const refusing = recordingTarget(() => ({ kind: 'refused', message: '401 unknown key' }));
  const result = await runOnce(optionsFor(servers, { targets: [recordingTarget(), refusing] }), never);
  assert.equal(result.ok, false);
  assert.deepEqual(
    result.deliveries.map(({ result }) => result.kind),
    ['accepted', 'refused'],
  );
  const healthy = await runOnce(
    optionsFor({ a: fakeServer(older) }, { targets: [recordingTarget()] }),
    never,
  );
  assert.equal(healthy.ok, true);
});

test('a target that throws is a failed delivery, and the other targets get the snapshot', async () => {
  const targets: SyncParts['targets'] = [
    { name: 'one', put: async () => assert.fail('a bug') },
    { name: 'other', put: async () => ({ kind: 'accepted' }) },
  ];
  const { ok, deliveries } = await runOnce(optionsFor({ a: fakeServer(older) }, { targets }), never);
  assert.equal(ok, false);
  assert.deepEqual(deliveries, [
    { target: 'one', result: { kind: 'unreachable', message: 'a bug' } },
    { target: 'other', result: { kind: 'accepted' } },
  ]);
});

test('custom resources stay known from one run to the next while no server that is asked serves their definitions', async () => {
  const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const documents = fakeServer({
    ...classicResponses({ v1: ['pods'] }),
    [definitions]: {
      items: [{ metadata: { name: 'x' }, spec: { group: 'example.com', versions: [{ name: 'v1' }] } }],
    },
  });
  const servers = [{ id: 'x', address: 'x:6443' }];
  const signal = new AbortController().signal;
  const before = scriptedWatch();
  before.list = (path) => documents.get(path, 'application/json');
  const listed = new WatchedCluster({
    connection: before,
    documentsOf: () => documents,
    listed: servers,
    clock: systemClock,
  });
  const { snapshot: previous } = await runOnce({ clusterSource: listed, targets: [] }, signal);
  assert.deepEqual(previous?.customResourceGroups, [{ group: 'example.com', version: 'v1' }]);

  // The next run watches through an API server that starts: before 1.23 it says that it serves nothing.
  const connection = scriptedWatch();
  connection.list = () => plainNotFound;
  const clusterSource = new WatchedCluster({
    connection,
    documentsOf: () => documents,
    finding: { servingNames: async () => [], previous },
    listed: servers,
    clock: systemClock,
  });
  const { snapshot, ok, warnings } = await runOnce({ clusterSource, previous, targets: [] }, signal);
  assert.deepEqual(snapshot?.customResourceGroups, [{ group: 'example.com', version: 'v1' }]);
  assert.deepEqual([ok, warnings], [true, []]);
});

test('an APIService that is left out is told of whatever else cannot be read, and once', async () => {
  const services = '/apis/apiregistration.k8s.io/v1/apiservices';
  const odd = { metadata: { name: 'odd' }, spec: { group: 'Odd Group', version: 'v1' } };
  const documents = fakeServer(classicResponses({ v1: ['pods'] }));
  const servers = [{ id: 'x', address: 'x:6443' }];
  const forbidden = () => jsonDocument({ kind: 'Status', code: 403 }, 403);
  const signal = new AbortController().signal;
  const others = [forbidden, () => plainNotFound];
  for (const other of others) {
    const connection = scriptedWatch();
    connection.list = (path) => (path.startsWith(services) ? listResponse([odd]) : other());
    const clusterSource = new WatchedCluster({
      connection,
      documentsOf: () => documents,
      finding: { servingNames: async () => [] },
      listed: servers,
      clock: systemClock,
    });
    const { warnings } = await runOnce({ clusterSource, targets: [] }, signal);
    assert.equal(warnings.join('\n').split('is left out').length, 2, warnings.join('\n'));
  }
});

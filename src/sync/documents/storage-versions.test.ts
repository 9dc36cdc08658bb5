import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import {
  aggregatedResponse,
  type FakeResponse,
  type FakeServer,
  fakeServer,
  hangs,
  refusesConnections,
} from '../../../test/support/api-servers/fake-server-documents.ts';
import { manualClock, mockTimersOfSomeLength, settle } from '../../../test/support/manual-clock.ts';
import type { ServedSet } from '../../snapshot/format/schema.ts';
import { buildSnapshot } from '../build-snapshot.ts';
import { ServerReaders } from '../reading/server-readers.ts';
import { parseStorageVersion, servedByStorageVersions } from './storage-versions.ts';
import { defaultTiming } from './timing.ts';

function object(name: string, storageVersions: readonly object[]) {
  return { metadata: { name }, spec: {}, status: { storageVersions } };
}

test('served versions are filed by server, under the group that serves them', () => {
  const entries = [
    object('core.pods', [{ apiServerID: 'a', encodingVersion: 'v1', servedVersions: ['v1'] }]),
    object('apps.deployments', [
      { apiServerID: 'a', servedVersions: ['apps/v1', 'apps/v1beta2'] },
      { apiServerID: 'b', servedVersions: ['apps/v1'] },
    ]),
    // Stored as core, served by two groups.
    object('core.events', [{ apiServerID: 'a', servedVersions: ['events.k8s.io/v1', 'v1'] }]),
  ].map(parseStorageVersion);
  assert.deepEqual(Object.fromEntries(servedByStorageVersions(entries)), {
    a: {
      'apps.deployments': ['v1', 'v1beta2'],
      'core.events': ['v1'],
      'core.pods': ['v1'],
      'events.k8s.io.events': ['v1'],
    },
    b: { 'apps.deployments': ['v1'] },
  });
});

test('what servers before 1.28 can decode is not what they serve', async () => {
  for (const cluster of ['kubernetes-1.25-1.26', 'kubernetes-1.26-batch-disabled']) {
    const recorded = await readFile(`test/fixtures/${cluster}/storageversions.json`, 'utf8');
    const items: readonly unknown[] = JSON.parse(recorded).items;
    assert.ok(items.length > 40);
    assert.equal(servedByStorageVersions(items.map(parseStorageVersion)).size, 0);
  }
});

test('an object that is no StorageVersion is refused', () => {
  assert.throws(() => parseStorageVersion({ metadata: {} }), { code: 'InvalidDocument' });
});

const [hashOfV1, hashOfV2] = ['8aSe+NMegvE=', 'dd7pWHUlMKQ='] as const;

function groupOf(name: string, resources: readonly string[]): object {
  const listed = resources.map((resource) => ({
    resource,
    responseKind: { kind: 'Thing' },
    scope: 'Namespaced',
    verbs: ['get'],
  }));
  return { metadata: { name }, versions: [{ version: 'v1', resources: listed }] };
}

function list(name: string, hashes: Readonly<Record<string, string>>): object {
  const resources = Object.entries(hashes).map(([resource, storageVersionHash]) => ({
    name: resource,
    namespaced: true,
    kind: 'Thing',
    verbs: ['get'],
    storageVersionHash,
  }));
  return { kind: 'APIResourceList', groupVersion: `${name}/v1`, resources };
}

function serverOf(groups: readonly object[], lists: Readonly<Record<string, FakeResponse>>): FakeServer {
  return fakeServer({
    '/api': aggregatedResponse([]),
    '/apis': aggregatedResponse(groups),
    '/version': { gitVersion: 'v1.36.0' },
    ...lists,
  });
}

const timing = {
  ...defaultTiming,
  readTimeout: 60_000,
  concurrentServers: 1,
  concurrentDocuments: 4,
  readBackOff: { initialMilliseconds: 1, maximumMilliseconds: 1 },
};

function setUp(documents: FakeServer) {
  const clock = manualClock();
  const readers = new ServerReaders({ clock, timing });
  readers.follow([{ id: 'a', documents }]);
  const { signal } = new AbortController();
  const read = async (): Promise<ServedSet> => {
    const reading = (await readers.round(signal, undefined)).get('a')?.reading;
    assert.ok(reading?.ok);
    return reading.set;
  };
  const asked = (name: string) => documents.asked.filter((path) => path === `/apis/${name}/v1`).length;
  return { clock, readers, read, asked };
}

test('a classic document is read again when its group version is described otherwise, and only then', async () => {
  const documents = serverOf([groupOf('apps', ['deployments']), groupOf('batch', ['jobs'])], {
    '/apis/apps/v1': list('apps', { deployments: hashOfV1 }),
    '/apis/batch/v1': list('batch', { jobs: hashOfV1 }),
  });
  const { read, asked } = setUp(documents);
  const both = { 'apps.deployments': hashOfV1, 'batch.jobs': hashOfV1 };
  for (let round = 0; round < 3; round++) assert.deepEqual((await read()).storageVersionHashes, both);
  assert.deepEqual([asked('apps'), asked('batch')], [1, 1]);

  documents.responses.set(
    '/apis',
    aggregatedResponse([groupOf('apps', ['deployments', 'daemonsets']), groupOf('batch', ['jobs'])]),
  );
  documents.responses.set('/apis/apps/v1', list('apps', { deployments: hashOfV1, daemonsets: hashOfV2 }));
  assert.deepEqual((await read()).storageVersionHashes, { ...both, 'apps.daemonsets': hashOfV2 });
  assert.deepEqual([asked('apps'), asked('batch')], [2, 1]);
});

test('a document that cannot be read keeps its known hashes, and is read again after half a minute', async () => {
  const documents = serverOf([groupOf('apps', ['deployments'])], {
    '/apis/apps/v1': list('apps', { deployments: hashOfV1 }),
  });
  const { clock, read, asked } = setUp(documents);
  await read();
  documents.responses.set('/apis', aggregatedResponse([groupOf('apps', ['deployments', 'daemonsets'])]));
  documents.responses.set('/apis/apps/v1', refusesConnections);
  for (let round = 0; round < 3; round++) {
    assert.deepEqual((await read()).storageVersionHashes, { 'apps.deployments': hashOfV1 });
  }
  assert.equal(asked('apps'), 2);
  await clock.advance(30_000);
  documents.responses.set('/apis/apps/v1', list('apps', { deployments: hashOfV2 }));
  assert.deepEqual((await read()).storageVersionHashes, { 'apps.deployments': hashOfV2 });
});

test('a document that hangs costs the reading nothing but itself, and not again in the next round', async (context) => {
  mockTimersOfSomeLength(context);
  const documents = serverOf([groupOf('apps', ['deployments']), groupOf('slow.example.com', ['things'])], {
    '/apis/apps/v1': list('apps', { deployments: hashOfV1 }),
    '/apis/slow.example.com/v1': hangs,
  });
  const { read, asked } = setUp(documents);
  const first = read();
  await settle();
  context.mock.timers.tick(2_000);
  assert.deepEqual((await first).storageVersionHashes, { 'apps.deployments': hashOfV1 });
  assert.deepEqual((await read()).storageVersionHashes, { 'apps.deployments': hashOfV1 });
  assert.equal(asked('slow.example.com'), 1);
});

test('a new version of a server, or one that was away, is read again with the same discovery', async () => {
  const documents = serverOf([groupOf('apps', ['deployments'])], {
    '/apis/apps/v1': list('apps', { deployments: hashOfV1 }),
  });
  const { clock, readers, read } = setUp(documents);
  await read();
  documents.responses.set('/version', { gitVersion: 'v1.37.0' });
  documents.responses.set('/apis/apps/v1', list('apps', { deployments: hashOfV2 }));
  assert.equal((await read()).storageVersionHashes?.['apps.deployments'], hashOfV2);

  const api = documents.responses.get('/api');
  documents.responses.set('/api', refusesConnections);
  await readers.round(new AbortController().signal, undefined);
  await clock.advance(10);
  documents.responses.set('/api', api ?? {});
  documents.responses.set('/apis/apps/v1', list('apps', { deployments: hashOfV1 }));
  assert.equal((await read()).storageVersionHashes?.['apps.deployments'], hashOfV1);
});

test('a server that becomes another process while it is read is read whole at once', async () => {
  const documents = serverOf([groupOf('apps', ['deployments'])], { '/apis/apps/v1': hangs });
  const { readers, read, asked } = setUp(documents);
  readers.follow([{ id: 'a', documents, holderIdentity: 'before' }]);
  const cancelled = readers.round(new AbortController().signal, undefined);
  await settle();
  readers.follow([{ id: 'a', documents, holderIdentity: 'after' }]);
  documents.responses.set('/apis/apps/v1', list('apps', { deployments: hashOfV1 }));
  // Both while the cancelled read is ending, and when it has ended.
  const during = read();
  await cancelled;
  assert.deepEqual((await during).storageVersionHashes, { 'apps.deployments': hashOfV1 });
  assert.equal(asked('apps'), 2);
});

test('documents that have not changed since an earlier run are not read', async () => {
  const documents = serverOf([groupOf('apps', ['deployments'])], {
    '/apis/apps/v1': list('apps', { deployments: hashOfV1 }),
  });
  const { signal } = new AbortController();
  const options = {
    clock: manualClock(),
    timing,
  };
  const first = new ServerReaders(options);
  first.follow([{ id: 'a', documents }]);
  const records = await first.round(signal, undefined);
  const { snapshot } = await buildSnapshot({
    servers: [...records.values()],
    clusterObjects: { apiServices: [], customResourceGroups: [], warnings: [] },
    now: Date.UTC(2026, 0, 31),
  });
  const next = new ServerReaders({ ...options, previous: snapshot });
  next.follow([{ id: 'a', documents }]);
  const reading = (await next.round(signal, undefined)).get('a')?.reading;
  assert.deepEqual(reading?.ok === true && reading.set.storageVersionHashes, {
    'apps.deployments': hashOfV1,
  });
  assert.equal(documents.asked.filter((path) => path === '/apis/apps/v1').length, 1);
});

test('an invalid hash is in no snapshot', async () => {
  const documents = serverOf([groupOf('example.com', ['things', 'queue_depth'])], {
    '/apis/example.com/v1': list('example.com', { things: 'not a hash', queue_depth: hashOfV1 }),
  });
  const { read } = setUp(documents);
  const reading = {
    ok: true,
    set: await read(),
    openApi: { kind: 'not-served' },
    version: undefined,
  } as const;
  const { snapshot } = await buildSnapshot({
    servers: [{ server: { id: 'a' }, reading }],
    clusterObjects: { apiServices: [], customResourceGroups: [], warnings: [] },
    now: Date.UTC(2026, 0, 31),
  });
  assert.deepEqual(Object.values(snapshot?.servedSets ?? {})[0]?.storageVersionHashes, {});
});

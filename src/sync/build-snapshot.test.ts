import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { isGenerationAhead } from '../snapshot/format/limits.ts';
import { parseSnapshot } from '../snapshot/format/parse-snapshot.ts';
import type { ServedSet, Snapshot } from '../snapshot/format/schema.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { buildSnapshot, nextGeneration, type SnapshotInput } from './build-snapshot.ts';
import type { ServerReading } from './documents/sync-server.ts';

const now = Date.UTC(2026, 0, 31, 12, 0, 0);
const unknownObjects = { apiServices: undefined, customResourceGroups: undefined, warnings: [] };
const noObjects = { apiServices: [], customResourceGroups: [], warnings: [] };
const failed: ServerReading = { ok: false, code: 'Unreachable', reason: 'connection refused' };

function reading(
  storageVersions: ServedSet['storageVersions'],
  rest: Partial<ServedSet> = {},
): ServerReading {
  return {
    ok: true,
    set: { storageVersions, subresources: {}, discovery: [], ...rest },
    openApi: { kind: 'not-served' },
    version: 'v1.26.0',
  };
}

const pods = reading({ 'core.pods': ['v1'] });
const podsAndJobs = reading({ 'core.pods': ['v1'], 'batch.jobs': ['v1'] });

async function build(readings: Record<string, ServerReading>, rest: Partial<SnapshotInput> = {}) {
  return buildSnapshot({
    servers: Object.entries(readings).map(([id, reading]) => ({
      server: { id, address: `${id}.example.com:6443` },
      reading,
    })),
    clusterObjects: noObjects,
    now,
    ...rest,
  });
}

async function snapshotOf(readings: Record<string, ServerReading>, rest: Partial<SnapshotInput> = {}) {
  const { snapshot } = await build(readings, rest);
  assert.ok(snapshot !== undefined);
  const parsed = await parseSnapshot(JSON.parse(JSON.stringify(snapshot)));
  assert.deepEqual(parsed.ok ? [] : parsed.issues, []);
  return snapshot;
}

/** IDs of the servers of a resource. */
function whoServes(snapshot: Snapshot, group: string, version: string, resource: string): string[] {
  return [...(buildRoutingTable(snapshot).resource(group, version, resource)?.serverIds ?? [])];
}

test('servers that serve the same share one set', async () => {
  const snapshot = await snapshotOf({ c: pods, a: pods, b: podsAndJobs });
  assert.deepEqual(
    snapshot.servers.map(({ id }) => id),
    ['a', 'b', 'c'],
  );
  assert.equal(Object.keys(snapshot.servedSets).length, 2);
  assert.deepEqual(whoServes(snapshot, 'batch', 'v1', 'jobs'), ['b']);
  assert.deepEqual(whoServes(snapshot, '', 'v1', 'pods'), ['a', 'b', 'c']);
});

test('the same content is no new generation, however it is ordered and whenever it is read', async () => {
  const first = await snapshotOf({ a: pods, b: podsAndJobs });
  const fromDisk: Snapshot = JSON.parse(JSON.stringify(first));
  const again = await build({ b: podsAndJobs, a: pods }, { previous: fromDisk, now: now + 60_000 });
  assert.equal(again.changed, false);
  assert.equal(again.snapshot, fromDisk);
});

test('other content is the next generation, made now', async () => {
  const first = await snapshotOf({ a: pods });
  const second = await snapshotOf({ a: podsAndJobs }, { previous: first, now: now + 60_000 });
  assert.equal(second.metadata.generation, first.metadata.generation + 1);
  assert.equal(second.metadata.createdAt, '2026-01-31T12:01:00.000Z');
});

test('a changed cluster name is other content', async () => {
  const previous = await snapshotOf({ a: pods });
  assert.equal((await build({ a: pods }, { previous, cluster: 'prod' })).changed, true);
});

test('a server that cannot be read keeps set and version, marked stale, until it can be again', async () => {
  const previous = await snapshotOf({ a: pods, b: podsAndJobs });
  const faulty = await build({ a: pods, b: failed }, { previous });
  assert.ok(faulty.changed && faulty.snapshot !== undefined);
  assert.deepEqual(whoServes(faulty.snapshot, 'batch', 'v1', 'jobs'), ['b']);
  const [, b] = faulty.snapshot.servers;
  assert.equal(b?.stale, true);
  assert.equal(b?.version, 'v1.26.0');
  assert.match(
    faulty.warnings.join(),
    /server b cannot be read, so its last known resources are used: connection refused/,
  );

  const stillFaulty = await build({ a: pods, b: failed }, { previous: faulty.snapshot });
  assert.equal(stillFaulty.changed, false);
  const healed = await snapshotOf({ a: pods, b: podsAndJobs }, { previous: faulty.snapshot });
  assert.equal(healed.servers[1]?.stale, undefined);
});

test('a server that was never read is left out, with a warning', async () => {
  const { snapshot, warnings } = await build({ a: pods, b: failed });
  assert.deepEqual(
    snapshot?.servers.map(({ id }) => id),
    ['a'],
  );
  assert.match(warnings.join(), /server b is left out.*connection refused/);
});

test('a server that is no longer listed is removed', async () => {
  const previous = await snapshotOf({ a: pods, b: podsAndJobs });
  assert.deepEqual(
    (await snapshotOf({ a: pods }, { previous })).servers.map(({ id }) => id),
    ['a'],
  );
});

test('without a known server there is no snapshot', async () => {
  const { snapshot, changed } = await build({ a: failed });
  assert.equal(snapshot, undefined);
  assert.equal(changed, false);
});

test('APIServices and custom resources that cannot be read stay as they were', async () => {
  const clusterObjects = {
    apiServices: [{ group: 'apps', version: 'v1', available: true }],
    customResourceGroups: [{ group: 'example.com', version: 'v1' }],
    warnings: [],
  };
  const previous = await snapshotOf({ a: pods }, { clusterObjects });
  const next = await build({ a: pods }, { previous, clusterObjects: unknownObjects });
  assert.equal(next.changed, false);
});

test('an OpenAPI index and a version that cannot be read stay as they were', async () => {
  const paths = { 'api/v1': '/openapi/v3/api/v1?hash=A' };
  assert.ok(pods.ok);
  const previous = await snapshotOf({ a: { ...pods, openApi: { kind: 'read', paths } } });
  const unread = { ...pods, version: undefined, openApi: { kind: 'failed', reason: 'too slow' } } as const;
  const next = await build({ a: unread }, { previous });
  assert.equal(next.changed, false);
  assert.match(next.warnings.join(), /OpenAPI v3 index of server a is unknown: too slow/);
});

test('group versions of extension servers and custom resources belong to no server, but stay in discovery', async () => {
  const service = { namespace: 'kube-system', name: 'metrics-server' };
  const discovery = [{ metadata: { name: 'metrics.k8s.io' }, versions: [{ version: 'v1beta1' }] }];
  const all = reading(
    {
      'core.pods': ['v1'],
      'metrics.k8s.io.nodes': ['v1beta1'],
      'example.com.widgets': ['v2', 'v1'],
    },
    { discovery, subresources: { 'example.com.widgets': { v1: ['status'], v2: ['status'] } } },
  );
  const snapshot = await snapshotOf(
    { a: all },
    {
      clusterObjects: {
        apiServices: [{ group: 'metrics.k8s.io', version: 'v1beta1', service, available: true }],
        customResourceGroups: [{ group: 'example.com', version: 'v1' }],
        warnings: [],
      },
    },
  );
  const [set] = Object.values(snapshot.servedSets);
  assert.deepEqual(set?.storageVersions, { 'core.pods': ['v1'], 'example.com.widgets': ['v2'] });
  assert.deepEqual(set?.subresources, { 'example.com.widgets': { v2: ['status'] } });
  assert.deepEqual(set?.discovery, discovery);
});

const served = fc.dictionary(
  fc.constantFrom('core.pods', 'batch.jobs', 'apps.deployments'),
  fc.uniqueArray(fc.constantFrom('v1', 'v1beta1', 'v2'), { minLength: 1 }),
  { noNullPrototype: true },
);
function servedBy(snapshot: Snapshot, id: string): ServedSet['storageVersions'] | undefined {
  const server = snapshot.servers.find((candidate) => candidate.id === id);
  return server && snapshot.servedSets[server.serves]?.storageVersions;
}

const rounds = fc.array(
  fc.record({ a: fc.option(served), b: fc.option(served), c: fc.option(served), objects: fc.boolean() }),
  { minLength: 2, maxLength: 6 },
);

test('no sequence of failures removes the last known resources of a server', async () => {
  await fc.assert(
    fc.asyncProperty(rounds, async (sequence) => {
      const lastKnown = new Map<string, ServedSet['storageVersions']>();
      let previous: Snapshot | undefined;
      for (const { objects, ...servers } of sequence) {
        const readings = Object.entries(servers).map(([id, versions]): [string, ServerReading] => {
          if (versions !== null) lastKnown.set(id, versions);
          return [id, versions === null ? failed : reading(versions)];
        });
        const clusterObjects = objects ? noObjects : unknownObjects;
        const { snapshot, changed } = await build(Object.fromEntries(readings), { previous, clusterObjects });
        assert.equal(snapshot === undefined, lastKnown.size === 0);
        if (snapshot === undefined) continue;
        for (const [id, versions] of lastKnown) assert.deepEqual(servedBy(snapshot, id), versions);
        const step =
          snapshot.metadata.generation - (previous?.metadata.generation ?? Math.floor(now / 1000) - 1);
        assert.equal(step, changed ? 1 : 0);
        previous = snapshot;
      }
    }),
    { numRuns: 100 },
  );
});

test('a generation is one more than the previous one', () => {
  assert.equal(nextGeneration(7, now), 8);
});

test('a generation starts from the time in seconds when there is nothing to go on from', () => {
  assert.equal(nextGeneration(undefined, now), now / 1000);
});

test('a run without state is ahead of one that changed once a second since it began', () => {
  const seconds = 3600;
  let generation = nextGeneration(undefined, now);
  for (let change = 1; change < seconds; change++) generation = nextGeneration(generation, now);
  assert.ok(nextGeneration(undefined, now + seconds * 1000) > generation);
});

test('a generation is higher than the previous one, unless that lies far ahead of the clock', () => {
  const generation = fc.option(fc.integer({ min: 1, max: 2 ** 40 }), { nil: undefined });
  fc.assert(
    fc.property(generation, fc.integer({ min: 0, max: 2 ** 42 }), (previous, time) => {
      const next = nextGeneration(previous, time);
      const before = previous === undefined || isGenerationAhead(previous, time) ? 0 : previous;
      assert.ok(Number.isSafeInteger(next) && next > before && !isGenerationAhead(next - 1, time));
    }),
  );
});

const stored = (
  readings: Record<string, ServerReading>,
  storageVersions: Readonly<Record<string, ServedSet['storageVersions']>>,
  previous?: Snapshot,
) => build(readings, { storageVersions: new Map(Object.entries(storageVersions)), previous });
const podsWithLog = reading({ 'core.pods': ['v1'] }, { subresources: { 'core.pods': { v1: ['log'] } } });

const setOf = (snapshot: Snapshot | undefined, id: string) =>
  snapshot?.servedSets[snapshot.servers.find((server) => server.id === id)?.serves ?? ''];

test('a server that was never read serves what its StorageVersions say, without subresources', async () => {
  const { snapshot, warnings } = await stored({ a: failed }, { a: { 'core.pods': ['v1'] } });
  assert.deepEqual(setOf(snapshot, 'a'), { storageVersions: { 'core.pods': ['v1'] } });
  assert.equal(snapshot?.servers[0]?.stale, undefined);
  assert.equal(snapshot?.metadata.source, 'storageversions');
  assert.match(warnings.join(), /server a is known only by its StorageVersions: connection refused/);
});

test('a server follows its StorageVersions until it is read, and its discovery from then on', async () => {
  const first = await stored({ a: failed }, { a: { 'core.pods': ['v1'] } });
  const second = await stored({ a: failed }, { a: { 'core.nodes': ['v1'] } }, first.snapshot);
  assert.deepEqual(setOf(second.snapshot, 'a')?.storageVersions, { 'core.nodes': ['v1'] });
  const third = await stored({ a: podsWithLog }, { a: { 'core.pods': ['v1'] } }, second.snapshot);
  assert.deepEqual(setOf(third.snapshot, 'a')?.subresources, { 'core.pods': { v1: ['log'] } });
  // The last reading stands when the server can be read no longer, not what StorageVersions say.
  const fourth = await stored({ a: failed }, { a: { 'core.nodes': ['v1'] } }, third.snapshot);
  assert.deepEqual(setOf(fourth.snapshot, 'a')?.storageVersions, { 'core.pods': ['v1'] });
  assert.equal(fourth.snapshot?.servers[0]?.stale, true);
});

test('both sources are named, and discovery counts where they contradict each other', async () => {
  const same = await stored({ a: podsWithLog }, { a: { 'core.pods': ['v1'] } });
  assert.equal(same.snapshot?.metadata.source, 'both');
  assert.deepEqual(same.warnings, []);
  const other = await stored({ a: podsWithLog }, { a: { 'batch.jobs': ['v1'] } });
  assert.deepEqual(setOf(other.snapshot, 'a')?.storageVersions, { 'core.pods': ['v1'] });
  const none = await stored({ a: podsWithLog }, {});
  assert.equal(none.snapshot?.metadata.source, 'discovery');
});

/** A server of 1.36 as it was started; `hash` of its document of core. */
function started(hash: string, rest: Partial<Extract<ServerReading, { ok: true }>> = {}): ServerReading {
  return {
    ...(pods as Extract<ServerReading, { ok: true }>),
    version: 'v1.36.0',
    openApi: { kind: 'read', paths: { 'api/v1': `/openapi/v3/api/v1?hash=${hash}` } },
    ...rest,
  };
}

/** The versions that servers are counted as, by ID. */
async function versionsOf(readings: Record<string, ServerReading>, rest: Partial<SnapshotInput> = {}) {
  const { servers } = buildRoutingTable(await snapshotOf(readings, rest));
  return Object.fromEntries(servers.map(({ id, minor }) => [id, minor]));
}

test('servers of one program are of several versions where their documents, feature gates or effective versions differ', async () => {
  assert.deepEqual(await versionsOf({ a: started('AA'), b: started('AA') }), { a: '1.36', b: '1.36' });
  const { a, b } = await versionsOf({ a: started('AA'), b: started('BB') });
  assert.match(`${a}; ${b}`, /^1\.36, APIs [0-9a-f]{8}; 1\.36, APIs [0-9a-f]{8}$/);
  assert.notEqual(a, b);
  const gates = {
    a: started('AA', { featureGates: '0c11d5aa' }),
    b: started('AA', { featureGates: '7fe90b12' }),
  };
  assert.deepEqual(await versionsOf(gates), {
    a: '1.36, feature gates 0c11d5aa',
    b: '1.36, feature gates 7fe90b12',
  });
  assert.deepEqual(await versionsOf({ a: started('AA'), b: started('BB', { emulates: '1.35' }) }), {
    a: '1.36',
    b: '1.36 emulating 1.35',
  });
});

test('custom resources and extension APIs that come and go on each server at its own moment make no version', async () => {
  const gateway = { group: 'gateway.networking.k8s.io', version: 'v1' };
  const [, shared] = [gateway, new Set(['gateway.networking.k8s.io/v1'])];
  const withGateway = started('AA', {
    set: {
      storageVersions: {
        'core.pods': ['v1'],
        'gateway.networking.k8s.io.gateways': ['v1'],
        'acme.io.things': ['v1'],
      },
      subresources: {},
      discovery: [],
    },
    openApi: {
      kind: 'read',
      paths: {
        'api/v1': '/openapi/v3/api/v1?hash=AA',
        'apis/gateway.networking.k8s.io/v1': '/openapi/v3/apis/gateway.networking.k8s.io/v1?hash=CC',
        'apis/acme.io/v1': '/openapi/v3/apis/acme.io/v1?hash=DD',
      },
    },
  });
  const uniform = { a: '1.36', b: '1.36' };
  // The group version is there on one server, and on the other not yet.
  const arriving = { clusterObjects: { ...noObjects, customResourceGroups: [gateway] } };
  assert.deepEqual(await versionsOf({ a: withGateway, b: started('AA') }, arriving), uniform);
  // Its definition is deleted, and one server still lists it.
  assert.deepEqual(await versionsOf({ a: withGateway, b: started('AA') }, { everShared: shared }), uniform);
});

test('a server whose index could not be read is no other version', async () => {
  const unread = started('AA', { openApi: { kind: 'failed', reason: 'not in time' } });
  assert.deepEqual(await versionsOf({ a: started('AA'), b: unread }), { a: '1.36', b: '1.36' });
});

test('a server that does not say its index for a moment and then has another one has changed its version', async () => {
  const unread = started('AA', { openApi: { kind: 'failed', reason: 'it ends' } });
  const before = await snapshotOf({ a: started('AA'), b: started('BB') });
  const during = await snapshotOf({ a: unread, b: started('BB') }, { previous: before });
  assert.deepEqual(
    buildRoutingTable(during).servers.map(({ minor }) => minor),
    buildRoutingTable(before).servers.map(({ minor }) => minor),
  );
  const after = await snapshotOf({ a: started('BB'), b: started('BB') }, { previous: during });
  // Without one of before, each may have changed.
  const changes = after.metadata.versionChanges?.filter(({ from }) => from !== undefined);
  assert.deepEqual(
    changes?.map(({ server }) => server),
    ['a'],
  );
});

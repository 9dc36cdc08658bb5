import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { servedSetKeyOf, snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { parseStorageVersionName } from '../../apimachinery/group-version.ts';
import { servedSetOf } from '../format/handmade-snapshot.ts';
import type { Snapshot } from '../format/schema.ts';
import { buildRoutingTable, renewedTable } from './build-routing-table.ts';
import { isOld, oldSnapshotAge, type ServedBy } from './routing-table.ts';

function ids(servedBy: ServedBy | undefined): string[] | undefined {
  return servedBy?.servers.map((server) => server.id);
}

test('a resource is served by exactly the servers whose set lists its version', () => {
  const table = buildRoutingTable(
    snapshotOf({ b: ['v1/pods', 'batch/v1/jobs'], a: ['v1/pods', 'batch/v1beta1/jobs'] }),
  );
  assert.deepEqual(ids(table.resource('', 'v1', 'pods')), ['a', 'b']);
  assert.deepEqual(ids(table.resource('batch', 'v1', 'jobs')), ['b']);
  assert.deepEqual(ids(table.resource('batch', 'v1beta1', 'jobs')), ['a']);
  assert.equal(table.resource('batch', 'v2', 'jobs'), undefined);
  assert.equal(table.resource('core', 'v1', 'pods'), undefined);
});

test('names that JavaScript objects have of themselves are names like any other', () => {
  const table = buildRoutingTable(snapshotOf({ a: ['constructor/v1/tostring', 'v1/valueof'] }));
  assert.deepEqual(ids(table.resource('constructor', 'v1', 'tostring')), ['a']);
  for (const name of ['__proto__', 'constructor', 'toString', 'valueOf', 'hasOwnProperty']) {
    assert.equal(table.resource(name, name, name), undefined);
    assert.equal(table.resource('', 'v1', name), undefined);
    assert.equal(table.server(name), undefined);
    assert.equal(table.extension(name, name), undefined);
    assert.equal(table.isCustomResource(name, name), false);
  }
});

test('a server that knows nothing of subresources serves every one of its resources', () => {
  const table = buildRoutingTable(snapshotOf({ a: ['v1/pods'] }));
  const route = table.resource('', 'v1', 'pods');
  assert.deepEqual(ids(route?.subresource('log')), ['a']);
  // Any name, and always the same object: nothing is made for it.
  assert.equal(route?.subresource('anything-at-all'), route?.subresource('log'));
});

test('a server that knows its subresources lacks those it does not list', () => {
  const table = buildRoutingTable(
    snapshotOf({
      a: ['v1/pods', 'v1/pods/log'],
      b: ['v1/pods', 'v1/pods/log', 'v1/pods/ephemeralcontainers'],
      c: { serves: ['v1/pods'], knowsSubresources: true },
    }),
  );
  const route = table.resource('', 'v1', 'pods');
  assert.deepEqual(ids(route), ['a', 'b', 'c']);
  assert.deepEqual(ids(route?.subresource('log')), ['a', 'b']);
  assert.deepEqual(ids(route?.subresource('ephemeralcontainers')), ['b']);
  assert.equal(route?.subresource('exec'), undefined);
});

test('servers with and without knowledge of subresources are told apart, resource by resource', () => {
  const table = buildRoutingTable(
    snapshotOf({ a: ['v1/pods', 'apps/v1/deployments'], b: ['v1/pods', 'v1/pods/log'] }),
  );
  assert.deepEqual(ids(table.resource('', 'v1', 'pods')?.subresource('log')), ['a', 'b']);
  assert.deepEqual(ids(table.resource('', 'v1', 'pods')?.subresource('exec')), ['a']);
  assert.deepEqual(ids(table.resource('apps', 'v1', 'deployments')?.subresource('scale')), ['a']);
});

test('a server that has departed serves, and is not reachable: its address may be that of another by now', () => {
  const departedAt = '2026-01-31T12:00:00Z';
  const table = buildRoutingTable(
    snapshotOf({ a: { serves: ['batch/v1/jobs'], address: '10.0.0.1:6443', stale: true, departedAt } }),
  );
  const [server] = table.resource('batch', 'v1', 'jobs')?.servers ?? [];
  assert.deepEqual([server?.id, server?.origin, server?.departed], ['a', undefined, true]);
  assert.deepEqual(table.reachable, []);
});

test('a server without an address serves, but is not reachable', () => {
  const table = buildRoutingTable(
    snapshotOf({
      a: { serves: ['v1/pods'], withoutAddress: true },
      b: { serves: ['v1/pods'], url: 'https://peer-b.example.com', serverName: 'peer-b.example.com' },
      c: { serves: ['v1/pods'], address: '[fd00::3]:6443', version: 'v1.26.15', stale: true },
    }),
  );
  assert.deepEqual(table.servers, [
    {
      id: 'a',
      origin: undefined,
      serverName: 'kubernetes.default.svc',
      version: undefined,
      minor: undefined,
      stale: false,
      departed: false,
    },
    {
      id: 'b',
      origin: 'https://peer-b.example.com',
      serverName: 'peer-b.example.com',
      version: undefined,
      minor: undefined,
      stale: false,
      departed: false,
    },
    {
      id: 'c',
      origin: 'https://[fd00::3]:6443',
      serverName: 'kubernetes.default.svc',
      version: 'v1.26.15',
      minor: '1.26',
      stale: true,
      departed: false,
    },
  ]);
  const route = table.resource('', 'v1', 'pods');
  assert.deepEqual(ids(route), ['a', 'b', 'c']);
  assert.deepEqual(
    route?.reachable.map((server) => server.id),
    ['b', 'c'],
  );
  assert.equal(route?.serverIds.has('a'), true);
  assert.equal(table.server('b'), table.servers[1]);
});

test('only an APIService with a service is an extension', () => {
  const service = { namespace: 'kube-system', name: 'metrics-server' };
  const table = buildRoutingTable(
    snapshotOf(
      { a: ['v1/pods'] },
      {
        apiServices: [
          { group: 'metrics.k8s.io', version: 'v1beta1', service, available: true },
          { group: 'apps', version: 'v1', available: true },
        ],
        customResourceGroups: [{ group: 'example.com', version: 'v1' }],
      },
    ),
  );
  assert.equal(table.extension('metrics.k8s.io', 'v1beta1')?.service?.name, 'metrics-server');
  assert.equal(table.extension('metrics.k8s.io', 'v1'), undefined);
  assert.equal(table.extension('apps', 'v1'), undefined);
  assert.equal(table.isCustomResource('example.com', 'v1'), true);
  assert.equal(table.isCustomResource('example.com', 'v2'), false);
});

test('a renewed table is young again and has the very same routes', () => {
  const table = buildRoutingTable(snapshotOf({ a: ['v1/pods'] }, { createdAt: '2026-01-01T00:00:00Z' }));
  const renewed = renewedTable(table, '2026-01-01T00:00:30Z');
  assert.equal(renewed.createdAt, Date.UTC(2026, 0, 1, 0, 0, 30));
  assert.equal(renewed.resource('', 'v1', 'pods'), table.resource('', 'v1', 'pods'));
  assert.equal(table.createdAt, Date.UTC(2026, 0, 1));
  assert.deepEqual(
    [isOld(table, table.createdAt + oldSnapshotAge - 1), isOld(table, table.createdAt + oldSnapshotAge)],
    [false, true],
  );
});

test('a table cannot be changed', () => {
  const table = buildRoutingTable(snapshotOf({ a: ['v1/pods'] }));
  const route = table.resource('', 'v1', 'pods');
  for (const part of [table, table.servers, table.servers[0], route, route?.servers, route?.reachable]) {
    assert.ok(Object.isFrozen(part));
  }
});

test('what no table can be made of is refused, not guessed', () => {
  const good = snapshotOf({ a: ['v1/pods'] });
  const [server] = good.servers;
  assert.ok(server);
  for (const bad of [
    { ...good, servers: [{ ...server, serves: 'sha256:missing' }] },
    { ...good, servers: [server, server] },
    { ...good, metadata: { ...good.metadata, createdAt: 'yesterday' } },
  ]) {
    assert.throws(() => buildRoutingTable(bad), TypeError);
  }
});

test('50 servers with 400 resources share what is the same, and are indexed in a bounded number of objects', () => {
  const paths = Array.from({ length: 400 }, (_, index) => `group-${index % 30}.example/v1/resources${index}`);
  const servers = Object.fromEntries(
    Array.from({ length: 50 }, (_, index) => [`server-${index}`, index < 25 ? paths : paths.slice(0, 399)]),
  );
  const table = buildRoutingTable(snapshotOf(servers));
  const serverLists = new Set<unknown>();
  for (const [index] of paths.entries()) {
    const route = table.resource(`group-${index % 30}.example`, 'v1', `resources${index}`);
    assert.equal(route?.servers.length, index === 399 ? 25 : 50);
    serverLists.add(route?.servers);
  }
  assert.equal(serverLists.size, 2);
});

// Small alphabets, so that servers overlap.
const servedPath = fc
  .tuple(
    fc.constantFrom('', 'batch/', 'apps/'),
    fc.constantFrom('v1', 'v2'),
    fc.constantFrom('pods', 'jobs', 'things'),
    fc.constantFrom('', '', '/status', '/scale'),
  )
  .map(([group, version, resource, subresource]) => `${group}${version}/${resource}${subresource}`);
const anyServer = fc.record({
  serves: fc.uniqueArray(servedPath, { maxLength: 8 }),
  withoutAddress: fc.boolean(),
});
const anyServers = fc.dictionary(fc.stringMatching(/^[a-h]$/), anyServer, { minKeys: 1, maxKeys: 6 });

test('the table agrees with looking through the snapshot, for every resource, subresource and server', () => {
  fc.assert(
    fc.property(anyServers, (servers) => {
      const snapshot = snapshotOf(servers);
      const table = buildRoutingTable(snapshot);
      for (const group of ['', 'batch', 'apps', 'none']) {
        for (const version of ['v1', 'v2', 'v3']) {
          for (const resource of ['pods', 'jobs', 'things', 'none']) {
            const route = table.resource(group, version, resource);
            assertServes(route, naive(snapshot, group, version, resource, ''));
            for (const subresource of ['status', 'scale', 'unheard-of']) {
              assertServes(
                route?.subresource(subresource),
                naive(snapshot, group, version, resource, subresource),
              );
            }
          }
        }
      }
    }),
    { numRuns: 100 },
  );
});

function assertServes(servedBy: ServedBy | undefined, expected: string[]): void {
  assert.deepEqual(ids(servedBy) ?? [], expected);
  assert.deepEqual([...(servedBy?.serverIds ?? [])].sort(), expected);
  assert.deepEqual(
    servedBy?.reachable ?? [],
    (servedBy?.servers ?? []).filter((server) => server.origin !== undefined),
  );
}

function naive(
  snapshot: Snapshot,
  group: string,
  version: string,
  resource: string,
  subresource: string,
): string[] {
  const serving = snapshot.servers.filter(({ serves }) => {
    const set = snapshot.servedSets[serves];
    return Object.entries(set?.storageVersions ?? {}).some(([name, versions]) => {
      const parsed = parseStorageVersionName(name);
      if (parsed?.group !== group || parsed.resource !== resource || !versions.includes(version))
        return false;
      if (subresource === '' || set?.subresources === undefined) return true;
      return set.subresources[name]?.[version]?.includes(subresource) === true;
    });
  });
  return serving.map((server) => server.id).sort();
}

test('a version that a set lists twice counts once', () => {
  const once = snapshotOf({ a: ['v1/pods'] });
  const set = { ...servedSetOf(['v1/pods']), storageVersions: { 'core.pods': ['v1', 'v1'] } };
  const key = servedSetKeyOf(set);
  const snapshot: Snapshot = {
    ...once,
    servedSets: { [key]: set },
    servers: once.servers.map((server) => ({ ...server, serves: key })),
  };
  assert.deepEqual(ids(buildRoutingTable(snapshot).resource('', 'v1', 'pods')), ['a']);
});

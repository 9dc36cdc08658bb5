import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  aggregatedResponse,
  classicResponses,
  type FakeResponse,
  fakeServer,
} from '../../test/support/api-servers/fake-server-documents.ts';
import { scriptedWatch } from '../../test/support/api-servers/scripted-watch.ts';
import { systemClock } from '../runtime/time.ts';
import { snapshotLimits } from '../snapshot/format/limits.ts';
import type { Snapshot } from '../snapshot/format/schema.ts';
import { apiServicesPath, customResourceDefinitionsPath } from './documents/shared-objects.ts';
import { WatchedCluster } from './reading/cluster-source.ts';
import { runOnce } from './sync-once.ts';

const good = classicResponses({ v1: ['pods'], 'batch/v1': ['jobs'] });

/** A round over a server in order and one that says this besides. */
async function round(said: Readonly<Record<string, FakeResponse>>, previous?: Snapshot) {
  const servers = [
    { id: 'odd', address: '10.0.0.2:6443', documents: fakeServer({ ...good, ...said }) },
    { id: 'plain', address: '10.0.0.1:6443', documents: fakeServer(good) },
  ];
  const connection = scriptedWatch();
  connection.list = (path) => fakeServer({ ...good, ...said }).get(path, 'application/json');
  const clusterSource = new WatchedCluster({
    connection,
    documentsOf: ({ id }) => servers.find((server) => server.id === id)?.documents,
    listed: servers,
    clock: systemClock,
  });
  const { snapshot, warnings } = await runOnce(
    { clusterSource, targets: [], previous },
    new AbortController().signal,
  );
  return { snapshot, warnings, entry: (id: string) => snapshot?.servers.find((server) => server.id === id) };
}

const versionsOf = (group: string, versions: readonly string[], resource: object = { resource: 'things' }) =>
  aggregatedResponse([
    { metadata: { name: group }, versions: versions.map((version) => ({ version, resources: [resource] })) },
  ]);
const legacy = aggregatedResponse([
  { metadata: {}, versions: [{ version: 'v1', resources: [{ resource: 'pods' }] }] },
]);

describe('one server does not stop the snapshot of all', () => {
  test('whose version is no version: it is routed to as one of unknown version', async () => {
    const { entry, warnings } = await round({ '/version': { gitVersion: 'v1.26 (custom)' } });
    assert.deepEqual([entry('plain')?.version, entry('odd')?.version], ['v1.25.0', undefined]);
    assert.equal(entry('odd')?.stale, undefined);
    assert.match(
      warnings.join(),
      /the version of server odd is unknown: gitVersion .* not "v1\.26 \(custom\)"/,
    );
  });

  test('that no longer says of which version it is: it is not taken for one of its last known version', async () => {
    const { snapshot } = await round({});
    const { entry } = await round({ '/version': { gitVersion: '' } }, snapshot);
    assert.equal(entry('odd')?.version, undefined);
  });

  test('that names what no router takes: the names are left out, and discovery keeps those that it can hold', async () => {
    const odd = { resource: 'queue_depth', subresources: [{ subresource: 'a:b' }, { subresource: 'log' }] };
    const apis = aggregatedResponse([
      {
        metadata: { name: 'external.metrics.k8s.io' },
        versions: [{ version: 'v1', resources: [odd, { resource: 'with a space' }] }],
      },
    ]);
    const { snapshot, entry } = await round({ '/api': legacy, '/apis': apis });
    const set = snapshot?.servedSets[entry('odd')?.serves ?? ''];
    assert.deepEqual([set?.storageVersions, set?.subresources], [{ 'core.pods': ['v1'] }, {}]);
    assert.deepEqual(set?.discovery?.[1]?.versions?.[0]?.resources, [
      { resource: 'queue_depth', subresources: [{ subresource: 'log' }] },
    ]);
  });

  const leftOut: Readonly<Record<string, Readonly<Record<string, FakeResponse>>>> = {
    'an OpenAPI path named like a part of a prototype': {
      '/openapi/v3': { paths: { constructor: { serverRelativeURL: '/openapi/v3/constructor' } } },
    },
    'an API version named like a part of a prototype': {
      '/api': legacy,
      '/apis': versionsOf('odd.example', ['constructor'], {
        resource: 'things',
        subresources: [{ subresource: 'status' }],
      }),
    },
    'APIServices that upstream would refuse': {
      [apiServicesPath]: {
        items: [
          { metadata: { name: 'odd' }, spec: { group: 'Odd Group', version: 'v1' } },
          { metadata: { name: 'v1.apps' }, spec: { group: 'apps', version: 'v1' } },
          { metadata: { name: 'again' }, spec: { group: 'apps', version: 'v1' } },
        ],
      },
    },
    'a CustomResourceDefinition that upstream would refuse': {
      [customResourceDefinitionsPath]: {
        items: [
          {
            metadata: { name: 'odd' },
            spec: { group: 'Odd Group', versions: [{ name: 'v1' }, { name: 'V 2' }] },
          },
        ],
      },
    },
  };
  for (const [what, said] of Object.entries(leftOut)) {
    test(`that has ${what}: that alone is left out`, async () => {
      const { entry, warnings } = await round(said);
      assert.deepEqual([entry('plain')?.stale, entry('odd')?.stale], [undefined, undefined]);
      assert.doesNotMatch(warnings.join(), /no valid snapshot|cannot be read/);
    });
  }

  const many = (length: number, prefix: string) => Array.from({ length }, (_, index) => `${prefix}${index}`);
  const tooMuch: Readonly<Record<string, FakeResponse>> = {
    'versions of one group': versionsOf('odd.example', many(snapshotLimits.versions + 1, 'v')),
    'subresources of one resource': versionsOf('odd.example', ['v1'], {
      resource: 'things',
      subresources: many(snapshotLimits.subresources + 1, 's').map((subresource) => ({ subresource })),
    }),
    groups: aggregatedResponse(
      many(snapshotLimits.groups + 1, 'group-').map((name) => ({
        metadata: { name },
        versions: [{ version: 'v1' }],
      })),
    ),
  };
  for (const [what, apis] of Object.entries(tooMuch)) {
    test(`that has more ${what} than a snapshot can hold: it counts as one that cannot be read`, async () => {
      const said = { '/api': legacy, '/apis': apis };
      const first = await round(said);
      assert.deepEqual(
        first.snapshot?.servers.map(({ id }) => id),
        ['plain'],
      );
      assert.match(first.warnings.join(), /server odd is left out, .*: routers would refuse a snapshot with/);

      const { snapshot } = await round({});
      const { entry, warnings } = await round(said, snapshot);
      assert.deepEqual([entry('plain')?.stale, entry('odd')?.stale], [undefined, true]);
      assert.equal(entry('odd')?.serves, entry('plain')?.serves);
      assert.match(warnings.join(), /server odd cannot be read, so its last known resources are used/);
    });
  }
});

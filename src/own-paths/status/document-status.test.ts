import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOfSets } from '../../../test/support/recorded-cluster.ts';
import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { servedSetFromDiscovery } from '../../discovery/forms/aggregated.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { documentStatus } from './router-status.ts';

const groups = (kind: string, count: number): APIGroupDiscovery[] => [
  {
    metadata: { name: 'apps' },
    versions: [
      {
        version: 'v1',
        resources: Array.from({ length: count }, (_, index) => ({
          resource: `things${index}`,
          responseKind: { group: '', version: '', kind },
          scope: 'Namespaced' as const,
          verbs: ['get'],
        })),
      },
    ],
  },
];
const setOf = (kind: string, count: number) => ({
  ...servedSetFromDiscovery(groups(kind, count)),
  openapiV3: {},
});
const tableOf = (count: number, stale = false) =>
  buildRoutingTable(
    snapshotOfSets({
      a: { set: setOf('One', count), version: 'v1.26.0' },
      b: { set: setOf('Other', count), version: 'v1.25.0', stale },
    }),
  );

test('conflicts are counted and shown, with who says what', () => {
  const { discovery, documents } = documentStatus(tableOf(1));
  assert.equal(discovery.conflictCount, 1);
  assert.deepEqual(discovery.conflicts, [
    {
      group: 'apps',
      version: 'v1',
      resource: 'things0',
      subresource: '',
      field: 'kind',
      claims: [
        { value: 'apps/v1, Kind=One', serverIds: ['a'] },
        { value: 'apps/v1, Kind=Other', serverIds: ['b'] },
      ],
    },
  ]);
  assert.deepEqual(documents, []);
});

test('of many conflicts the number is whole and the list is not', () => {
  const { discovery } = documentStatus(tableOf(250));
  assert.deepEqual([discovery.conflictCount, discovery.conflicts.length], [250, 100]);
});

test('servers whose documents are missing or old are named', () => {
  const named = (table: Parameters<typeof documentStatus>[0]) =>
    documentStatus(table).documents.map(({ path, server }) => `${server} ${path}`);
  assert.deepEqual(named(tableOf(1, true)), ['b /apis']);
  const unknown = buildRoutingTable(snapshotOfSets({ a: { set: { storageVersions: {} } } }));
  assert.deepEqual(named(unknown), ['a /apis', 'a /openapi/v3']);
  assert.deepEqual(named(undefined), []);
});

test('who cannot read a server is the sync job, or the router that reads the cluster itself', () => {
  const problems = (isReadHere: boolean) =>
    documentStatus(tableOf(1, true), isReadHere).documents.map(({ problem }) => problem);
  assert.deepEqual(problems(false), ['The sync job cannot read it: what was last known of it is shown.']);
  assert.deepEqual(problems(true), ['This router cannot read it: what was last known of it is shown.']);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOfSets } from '../../../test/support/recorded-cluster.ts';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { servedSetFromDiscovery } from '../../discovery/forms/aggregated.ts';
import type { APIGroupDiscovery } from '../../snapshot/format/schema.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import {
  documentProblems,
  halfWayWarnings,
  undecodableResources,
  undecodableVersions,
  undecodableWarnings,
} from './router-status.ts';

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

test('servers whose documents are missing or old are named', () => {
  const named = (table: Parameters<typeof documentProblems>[0]) =>
    documentProblems(table).map(({ path, server }) => `${server} ${path}`);
  assert.deepEqual(named(tableOf(1, true)), ['b /apis']);
  const unknown = buildRoutingTable(snapshotOfSets({ a: { set: { storageVersions: {} } } }));
  assert.deepEqual(named(unknown), ['a /apis', 'a /openapi/v3']);
  assert.deepEqual(named(undefined), []);
});

test('who cannot read a server is the sync job, or the router that reads the cluster itself', () => {
  const problems = (isReadHere: boolean) =>
    documentProblems(tableOf(1, true), isReadHere).map(({ problem }) => problem);
  assert.deepEqual(problems(false), ['The sync job cannot read it: what was last known of it is shown.']);
  assert.deepEqual(problems(true), ['This router cannot read it: what was last known of it is shown.']);
});

/** The endpoints of the Service `kubernetes`, which have one port for all. */
const tableOn = (port: number) => {
  const { servers, ...snapshot } = snapshotOf({ a: { serves: [] }, b: { serves: [] } });
  const listed = servers.map((server, index) => ({
    ...server,
    address: `10.0.0.${index + 1}:${port}`,
    addressSource: 'endpointslice' as const,
  }));
  return buildRoutingTable({ ...snapshot, servers: listed });
};
const found = (port: number) => [
  { flag: '--local-server', value: `https://127.0.0.1:${port}`, source: 'the manifest' },
];

test('a kube-apiserver that does not listen where its Service leads is half way, whichever of the two has moved', () => {
  assert.match(
    halfWayWarnings(tableOn(6443), found(6444)).join(),
    /^half way: .* port 6443 .* on 6444\. Finish/,
  );
  assert.match(
    halfWayWarnings(tableOn(6444), found(6443)).join(),
    /^half way: .* port 6444 .* on 6443\. Finish/,
  );
});

test('nothing is said of one that does, of an address that was given by hand, and without a snapshot', () => {
  assert.deepEqual(halfWayWarnings(tableOn(6443), found(6443)), []);
  assert.deepEqual(halfWayWarnings(tableOn(6443), []), []);
  assert.deepEqual(halfWayWarnings(undefined, found(6444)), []);
});

const group = 'flowcontrol.apiserver.k8s.io';
const name = `${group}.flowschemas`;
const table = buildRoutingTable(
  snapshotOf({
    'cp-26': {
      version: 'v1.26.0',
      serves: [`${group}/v1beta3/flowschemas`],
      undecodableVersions: { [name]: [`${group}/v1`] },
    },
    'cp-25': {
      version: 'v1.25.0',
      serves: [`${group}/v1beta2/flowschemas`],
      undecodableVersions: { [name]: [`${group}/v1`, `${group}/v1beta3`] },
    },
    'cp-36': { version: 'v1.36.1', serves: [`${group}/v1/flowschemas`] },
  }),
);
const undecodable = undecodableVersions(table);

test('one sentence says which versions cannot read what is stored, and what to do', () => {
  assert.deepEqual(undecodableWarnings(undecodable, table, true), [
    '1 resource is stored in a form that servers of 1.25 and 1.26 cannot read. Keep a server of 1.36 running until every server is upgraded.',
  ]);
  assert.match(undecodableWarnings(undecodable, table, false).join(), /requests for it fail with 500 there/);
  assert.deepEqual(undecodableWarnings(new Map(), table, true), []);
});

test('a resource is shown with all its versions and all servers that lack one', () => {
  assert.deepEqual(undecodableResources(undecodable), [
    {
      resource: `flowschemas.${group}`,
      storedAt: [`${group}/v1`, `${group}/v1beta3`],
      servers: ['cp-25', 'cp-26'],
    },
  ]);
  assert.deepEqual(undecodableResources(undecodableVersions(undefined)), []);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import {
  halfWayWarnings,
  undecodableResources,
  undecodableVersions,
  undecodableWarnings,
} from './router-status.ts';

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
    'flowschemas.flowcontrol.apiserver.k8s.io is stored in a form that servers of 1.25 and 1.26 cannot read. Keep a server of 1.36 running until every server is upgraded. Clients of flowcontrol.apiserver.k8s.io/v1beta2 and flowcontrol.apiserver.k8s.io/v1beta3 get 500 for every object that is stored so: move them before you create one.',
  ]);
  assert.match(undecodableWarnings(undecodable, table, false).join(), /requests for it fail with 500 there/);
  assert.match(
    undecodableWarnings(undecodable, table, true, (id) => id === 'cp-36').join(),
    /Bring cp-36 back: until then it cannot be read\. Clients of/,
    'to keep a server running that is down is no advice',
  );
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

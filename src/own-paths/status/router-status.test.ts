import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { halfWayWarnings } from './router-status.ts';

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

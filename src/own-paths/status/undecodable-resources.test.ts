import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshot-builder.ts';
import { buildRoutingTable } from '../../snapshot/routing-table/build-routing-table.ts';
import { undecodableResources, undecodableVersions, undecodableWarnings } from './router-status.ts';

const group = 'flowcontrol.apiserver.k8s.io';
const name = `${group}.flowschemas`;
const undecodable = undecodableVersions(
  buildRoutingTable(
    snapshotOf({
      'cp-26': { serves: [`${group}/v1beta3/flowschemas`], undecodableVersions: { [name]: [`${group}/v1`] } },
      'cp-25': {
        serves: [`${group}/v1beta2/flowschemas`],
        undecodableVersions: { [name]: [`${group}/v1`, `${group}/v1beta3`] },
      },
      'cp-36': [`${group}/v1/flowschemas`],
    }),
  ),
);

test('each version that objects are stored at is told with the servers that cannot decode it, and no others', () => {
  assert.deepEqual(undecodableWarnings(undecodable, true), [
    `cp-25, cp-26 cannot decode flowschemas.${group} stored at ${group}/v1, and cp-25 cannot decode those stored at ${group}/v1beta3: requests for it go to servers that can, and fail with 500 while there is none`,
  ]);
  assert.match(undecodableWarnings(undecodable, false).join(), /: they fail with 500 there/);
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

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recordedServedSet, recordedServers } from '../../../test/support/recorded-cluster.ts';
import { servedSetFromDiscovery } from './aggregated.ts';

test('a recorded server’s set names what it serves in the language of StorageVersions', () => {
  const { a, b } = recordedServers('kubernetes-1.25-1.26');
  const set = recordedServedSet(a);
  assert.deepEqual(set.storageVersions['core.pods'], ['v1']);
  assert.deepEqual(set.storageVersions['autoscaling.horizontalpodautoscalers'], ['v2', 'v1', 'v2beta2']);
  assert.deepEqual(set.storageVersions['flowcontrol.apiserver.k8s.io.flowschemas'], ['v1beta2', 'v1beta1']);
  assert.deepEqual(set.subresources?.['core.pods']?.['v1']?.includes('log'), true);
  assert.deepEqual(set.subresources?.['apps.deployments'], { v1: ['scale', 'status'] });
  assert.equal(set.subresources?.['core.configmaps'], undefined);
  assert.match(
    set.openapiV3?.['apis/batch/v1'] ?? '',
    /^\/openapi\/v3\/apis\/batch\/v1\?hash=[0-9A-F]{128}$/,
  );
  assert.deepEqual(recordedServedSet(b).storageVersions['autoscaling.horizontalpodautoscalers'], [
    'v2',
    'v1',
  ]);
});

test('a set made from the classic form says the same as one made from the aggregated form', () => {
  const { a } = recordedServers('kubernetes-1.26-batch-disabled');
  const { storageVersionHashes: _hashes, ...aggregated } = recordedServedSet(a);
  const classic = { ...servedSetFromDiscovery(a.groups), openapiV3: aggregated.openapiV3 };
  assert.deepEqual(JSON.parse(JSON.stringify(classic)), JSON.parse(JSON.stringify(aggregated)));
});

test('versions stand in Kubernetes’ order, however discovery lists them', () => {
  const versions = ['v1beta1', 'v1', 'v10', 'v2'].map((version) => ({
    version,
    resources: [{ resource: 'widgets' }],
  }));
  const set = servedSetFromDiscovery([{ metadata: { name: 'example.com' }, versions }]);
  assert.deepEqual(set.storageVersions, { 'example.com.widgets': ['v10', 'v2', 'v1', 'v1beta1'] });
  assert.deepEqual(set.subresources, {});
  assert.equal('openapiV3' in set, false);
});

test('a resource whose name holds a dot has no StorageVersion name that could be read back', () => {
  const resources = [{ resource: 'jobs.batch', subresources: [{ subresource: 'queue_length' }] }];
  const set = servedSetFromDiscovery([
    { metadata: { name: 'custom.metrics.k8s.io' }, versions: [{ version: 'v1beta1', resources }] },
  ]);
  assert.deepEqual(set.storageVersions, {});
  assert.deepEqual(set.subresources, {});
  assert.equal(set.discovery?.[0]?.versions?.[0]?.resources?.[0]?.resource, 'jobs.batch');
});

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { recordedServedSet, recordedServers } from '../../../test/support/api-servers/recorded-cluster.ts';
import { parseAggregated, servedSetFromDiscovery } from './aggregated.ts';
import { DiscoveryDocumentError } from './parse-document.ts';

function list(items: unknown, rest: object = {}): unknown {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: 'apidiscovery.k8s.io/v2',
    metadata: {},
    items,
    ...rest,
  };
}

describe('a document is refused, with the reason,', () => {
  const cases: readonly [name: string, document: unknown, message: RegExp][] = [
    ['when it is a page', '<html>502 Bad Gateway</html>', /no object that has a kind/],
    ['when it is nothing', null, /no object that has a kind/],
    ['when it is a Status', { kind: 'Status', apiVersion: 'v1' }, /of kind "Status"/],
    ['when it is classic', { kind: 'APIGroupList', groups: [] }, /of kind "APIGroupList"/],
    ['when its version is unknown', list([], { apiVersion: 'apidiscovery.k8s.io/v3' }), /apiVersion/],
    ['when its items are missing', list(undefined), /items/],
    ['when its items are no list', list({}), /items/],
    ['when a group has no metadata', list([{ versions: [] }]), / at metadata/],
    ['when a group is called like a path', list([{ metadata: { name: '../x' } }]), / at metadata\.name/],
    ['when a version has no name', list([{ metadata: {}, versions: [{}] }]), /versions\[0\]\.version/],
    [
      'when a version is called like a property of every object',
      list([{ metadata: {}, versions: [{ version: '__proto__' }] }]),
      /versions\[0\]\.version/,
    ],
    [
      'when a resource has no name',
      list([{ metadata: {}, versions: [{ version: 'v1', resources: [{ resource: '' }] }] }]),
      /resources\[0\]\.resource/,
    ],
    [
      'when verbs are no list',
      list([
        { metadata: {}, versions: [{ version: 'v1', resources: [{ resource: 'pods', verbs: 'get' }] }] },
      ]),
      /resources\[0\]\.verbs/,
    ],
  ];
  for (const [name, document, message] of cases) {
    test(name, () => {
      assert.throws(() => [...parseAggregated(document)], { name: 'DiscoveryDocumentError', message });
    });
  }
});

test('fields that are not known are dropped, what Go writes as null is absent', () => {
  const document = list([
    {
      metadata: { name: 'example.com', creationTimestamp: null, labels: { a: 'b' } },
      versions: [
        {
          version: 'v1',
          novelty: 1,
          resources: [
            { resource: 'widgets', responseKind: null, verbs: null, shortNames: null, scope: 'Namespaced' },
          ],
        },
        { version: 'v1beta1', resources: null },
      ],
    },
  ]);
  assert.deepEqual(JSON.parse(JSON.stringify([...parseAggregated(document)])), [
    {
      metadata: { name: 'example.com' },
      versions: [
        { version: 'v1', resources: [{ resource: 'widgets', scope: 'Namespaced' }] },
        { version: 'v1beta1' },
      ],
    },
  ]);
  assert.deepEqual([...parseAggregated(list(null))], []);
});

test('group versions that a server marks Stale stay marked; marks and scopes of other kinds are none', () => {
  const [group] = parseAggregated(
    list([
      {
        metadata: { name: 'example.com' },
        versions: [
          { version: 'v2', freshness: 'Stale' },
          { version: 'v1', freshness: 'Lukewarm', resources: [{ resource: 'widgets', scope: 'Galaxy' }] },
        ],
      },
    ]),
  );
  assert.deepEqual(
    group?.versions?.map(({ version, freshness }) => [version, freshness]),
    [
      ['v2', 'Stale'],
      ['v1', undefined],
    ],
  );
  assert.equal(group?.versions?.[1]?.resources?.[0]?.scope, undefined);
});

test('a group or a version that no snapshot may have is refused, for one would cost every router its snapshot', () => {
  for (const [name, version] of [
    ['example..com', 'v1'],
    ['example.-com', 'v1'],
    ['Example.com', 'v1'],
    ['example.com', 'V1'],
  ]) {
    assert.throws(() => [...parseAggregated(list([{ metadata: { name }, versions: [{ version }] }]))], {
      name: 'DiscoveryDocumentError',
      message: /broken in an item at/,
    });
  }
});

test('whatever arrives, the response is groups or the one error', () => {
  const kinds = fc.constantFrom('APIGroupDiscoveryList', 'Status');
  const documents = fc.oneof(
    fc.jsonValue(),
    fc.record({ kind: kinds, apiVersion: fc.constant('apidiscovery.k8s.io/v2'), items: fc.jsonValue() }),
  );
  fc.assert(
    fc.property(documents, (document) => {
      try {
        assert.ok([...parseAggregated(document)].every(({ versions = [] }) => Array.isArray(versions)));
      } catch (error) {
        assert.ok(error instanceof DiscoveryDocumentError);
      }
    }),
  );
});

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

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { parseAggregated } from './aggregated.ts';
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
  const cases: readonly [name: string, document: unknown, code: string, message: RegExp][] = [
    ['when it is a page', '<html>502 Bad Gateway</html>', 'NotTheDocument', /no object that has a kind/],
    ['when it is nothing', null, 'NotTheDocument', /no object that has a kind/],
    ['when it is a Status', { kind: 'Status', apiVersion: 'v1' }, 'NotTheDocument', /of kind "Status"/],
    ['when it is classic', { kind: 'APIGroupList', groups: [] }, 'NotTheDocument', /of kind "APIGroupList"/],
    [
      'when its version is unknown',
      list([], { apiVersion: 'apidiscovery.k8s.io/v3' }),
      'InvalidDocument',
      /apiVersion/,
    ],
    ['when its items are missing', list(undefined), 'InvalidDocument', /items/],
    ['when its items are no list', list({}), 'InvalidDocument', /items/],
    ['when a group has no metadata', list([{ versions: [] }]), 'InvalidDocument', /items\.0\.metadata/],
    [
      'when a group is called like a path',
      list([{ metadata: { name: '../x' } }]),
      'InvalidDocument',
      /items\.0\.metadata\.name/,
    ],
    [
      'when a version has no name',
      list([{ metadata: {}, versions: [{}] }]),
      'InvalidDocument',
      /items\.0\.versions\.0\.version/,
    ],
    [
      'when a version is called like a property of every object',
      list([{ metadata: {}, versions: [{ version: '__proto__' }] }]),
      'InvalidDocument',
      /versions\.0\.version/,
    ],
    [
      'when a resource has no name',
      list([{ metadata: {}, versions: [{ version: 'v1', resources: [{ resource: '' }] }] }]),
      'InvalidDocument',
      /resources\.0\.resource/,
    ],
    [
      'when verbs are no list',
      list([
        { metadata: {}, versions: [{ version: 'v1', resources: [{ resource: 'pods', verbs: 'get' }] }] },
      ]),
      'InvalidDocument',
      /resources\.0\.verbs/,
    ],
  ];
  for (const [name, document, code, message] of cases) {
    test(name, () => {
      assert.throws(() => parseAggregated(document), { name: 'DiscoveryDocumentError', code, message });
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
  assert.deepEqual(JSON.parse(JSON.stringify(parseAggregated(document))), [
    {
      metadata: { name: 'example.com' },
      versions: [
        { version: 'v1', resources: [{ resource: 'widgets', scope: 'Namespaced' }] },
        { version: 'v1beta1' },
      ],
    },
  ]);
  assert.deepEqual(parseAggregated(list(null)), []);
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
    assert.throws(() => parseAggregated(list([{ metadata: { name }, versions: [{ version }] }])), {
      code: 'InvalidDocument',
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
        assert.ok(Array.isArray(parseAggregated(document)));
      } catch (error) {
        assert.ok(error instanceof DiscoveryDocumentError);
      }
    }),
  );
});

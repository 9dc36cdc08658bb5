import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APISubresourceDiscovery,
  APIVersionDiscovery,
} from '../snapshot/format/schema.ts';
import { type DiscoveryView, mergeDiscovery } from './merge-discovery.ts';

// Objects like those JSON.parse makes, for deepEqual.
const plain = { noNullPrototype: true };

// Few names, so that servers often speak of the same thing, and often differ on it.
const verbs = fc.uniqueArray(fc.constantFrom('get', 'list', 'create', 'watch'));
const responseKind = fc.record(
  {
    group: fc.constantFrom('', 'apps'),
    version: fc.constantFrom('', 'v1'),
    kind: fc.constantFrom('', 'Pod', 'Scale'),
  },
  plain,
);

function named<Item>(item: fc.Arbitrary<Item>, nameOf: (item: Item) => string): fc.Arbitrary<Item[]> {
  return fc.uniqueArray(item, { selector: nameOf, maxLength: 4 });
}

const subresource: fc.Arbitrary<APISubresourceDiscovery> = fc.record(
  { subresource: fc.constantFrom('status', 'scale', 'log'), responseKind, verbs },
  { requiredKeys: ['subresource'], ...plain },
);

const resource: fc.Arbitrary<APIResourceDiscovery> = fc.record(
  {
    resource: fc.constantFrom('pods', 'jobs', 'widgets', 'apps'),
    responseKind,
    scope: fc.constantFrom('Namespaced', 'Cluster'),
    singularResource: fc.constantFrom('', 'pod'),
    verbs,
    shortNames: fc.uniqueArray(fc.constantFrom('po', 'jo')),
    subresources: named(subresource, (item) => item.subresource),
  },
  { requiredKeys: ['resource'], ...plain },
);

const version: fc.Arbitrary<APIVersionDiscovery> = fc.record(
  {
    version: fc.constantFrom('v1', 'v2', 'v10', 'v1beta1', 'v1alpha1'),
    resources: named(resource, (item) => item.resource),
    freshness: fc.constantFrom('Current', 'Stale'),
  },
  { requiredKeys: ['version'], ...plain },
);

const group: fc.Arbitrary<APIGroupDiscovery> = fc
  .record(
    {
      name: fc.constantFrom('', 'apps', 'batch', 'policy', 'example.com'),
      versions: named(version, (item) => item.version),
    },
    plain,
  )
  .map(({ name, versions }) => ({ metadata: name === '' ? {} : { name }, versions }));

/** Views of a few servers with differing IDs; some share a set. */
const arbitraryViews: fc.Arbitrary<DiscoveryView[]> = fc
  .array(
    named(group, ({ metadata }) => metadata.name ?? ''),
    { minLength: 1, maxLength: 3 },
  )
  .chain((sets) =>
    fc.uniqueArray(
      fc.record(
        {
          serverId: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
          version: fc.constantFrom(undefined, 'v1.25.0', 'v1.26.0'),
          groups: fc.constantFrom(...sets),
          stale: fc.boolean(),
          reachable: fc.boolean(),
        },
        plain,
      ),
      { selector: ({ serverId }) => serverId, maxLength: 5 },
    ),
  );

/** Everything that can be asked for, one line each. */
function served(groups: readonly APIGroupDiscovery[]): Set<string> {
  const lines = new Set<string>();
  for (const { metadata, versions = [] } of groups) {
    for (const { version, resources = [] } of versions) {
      const groupVersion = `${metadata.name ?? ''}/${version}`;
      lines.add(groupVersion);
      for (const { resource, verbs = [], subresources = [] } of resources) {
        lines.add(`${groupVersion} ${resource}`);
        for (const verb of verbs) lines.add(`${groupVersion} ${resource} ${verb}`);
        for (const { subresource, verbs: below = [] } of subresources) {
          lines.add(`${groupVersion} ${resource}/${subresource}`);
          for (const verb of below) lines.add(`${groupVersion} ${resource}/${subresource} ${verb}`);
        }
      }
    }
  }
  return lines;
}

test('nothing that a server serves is lost, and nothing is shown that none serves', () => {
  fc.assert(
    fc.property(arbitraryViews, (views) => {
      const all = views.flatMap(({ groups }) => [...served(groups)]);
      assert.deepEqual([...served(mergeDiscovery(views).groups)].sort(), [...new Set(all)].sort());
    }),
  );
});

test('the order of the servers does not matter', () => {
  const views = arbitraryViews.chain((given) =>
    fc.tuple(
      fc.constant(given),
      fc.shuffledSubarray(given, { minLength: given.length, maxLength: given.length }),
    ),
  );
  fc.assert(
    fc.property(views, ([given, shuffled]) => {
      assert.equal(JSON.stringify(mergeDiscovery(given)), JSON.stringify(mergeDiscovery(shuffled)));
    }),
  );
});

test('servers that share a set give the same groups as servers with equal sets of their own', () => {
  fc.assert(
    fc.property(arbitraryViews, (views) => {
      const unshared = views.map((view) => ({ ...view, groups: structuredClone(view.groups) }));
      assert.equal(
        JSON.stringify(mergeDiscovery(unshared).groups),
        JSON.stringify(mergeDiscovery(views).groups),
      );
    }),
  );
});

test('further servers like one that is there already change nothing', () => {
  fc.assert(
    fc.property(arbitraryViews, (views) => {
      const twice = [...views, ...views.map((view) => ({ ...view, serverId: `z${view.serverId}` }))];
      assert.equal(
        JSON.stringify(mergeDiscovery(twice).groups),
        JSON.stringify(mergeDiscovery(views).groups),
      );
    }),
  );
});

test('what is merged already stays as it is', () => {
  fc.assert(
    fc.property(arbitraryViews, (views) => {
      const { groups } = mergeDiscovery(views);
      const again = mergeDiscovery([{ serverId: 'a', version: undefined, groups, stale: false }]);
      assert.deepEqual(again, { groups, storageVersionHashes: new Map() });
    }),
  );
});

test('the sets of the servers are left as they were', () => {
  fc.assert(
    fc.property(arbitraryViews, (views) => {
      const before = structuredClone(views);
      mergeDiscovery(views);
      assert.deepEqual(views, before);
    }),
  );
});

test('a group version is Stale only if every server that serves it is stale or beyond reach', () => {
  fc.assert(
    fc.property(arbitraryViews, (views) => {
      for (const { metadata, versions = [] } of mergeDiscovery(views).groups) {
        for (const { version, freshness } of versions) {
          const serving = views.flatMap((view) =>
            view.groups
              .filter((group) => group.metadata.name === metadata.name)
              .flatMap((group) => group.versions ?? [])
              .filter((candidate) => candidate.version === version)
              .map((candidate) => ({ ...view, ownStale: candidate.freshness === 'Stale' })),
          );
          const current = serving.filter(({ stale, ownStale }) => !stale && !ownStale);
          const everywhere = serving.length === views.length && current.length > 0;
          const countedOn = everywhere || current.some(({ reachable }) => reachable);
          assert.equal(freshness, countedOn ? 'Current' : 'Stale');
        }
      }
    }),
  );
});

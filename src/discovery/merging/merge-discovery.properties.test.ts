import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { arbitraryViews } from '../../../test/support/arbitrary-discovery.ts';
import type { APIGroupDiscovery } from '../../apimachinery/discovery-types.ts';
import { mergeDiscovery } from './merge-discovery.ts';

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

test('the order of the servers does not matter, for groups as for conflicts', () => {
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
      assert.deepEqual(again, { groups, conflicts: [], storageVersionHashes: new Map() });
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

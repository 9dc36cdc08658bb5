import fc from 'fast-check';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APISubresourceDiscovery,
  APIVersionDiscovery,
} from '../../src/apimachinery/discovery-types.ts';
import type { DiscoveryView } from '../../src/discovery/merging/discovery-view.ts';

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
export const arbitraryViews: fc.Arbitrary<DiscoveryView[]> = fc
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

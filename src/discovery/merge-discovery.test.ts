import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import type {
  APIGroupDiscovery,
  APIResourceDiscovery,
  APIVersionDiscovery,
} from '../snapshot/format/schema.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { compareLeadership } from './forms/leadership.ts';
import { consensusOrder, type DiscoveryView, mergeDiscovery, viewsOf } from './merge-discovery.ts';

function view(
  serverId: string,
  groups: readonly APIGroupDiscovery[],
  rest: Partial<DiscoveryView> = {},
): DiscoveryView {
  return { serverId, version: 'v1.30.0', groups, stale: false, ...rest };
}

function group(name: string, ...versions: (string | APIVersionDiscovery)[]): APIGroupDiscovery {
  return {
    metadata: { name },
    versions: versions.map((version) => (typeof version === 'string' ? { version } : version)),
  };
}

function batchOf(...resources: APIResourceDiscovery[]): APIGroupDiscovery[] {
  return [group('batch', { version: 'v1', resources })];
}

function jobs(rest: Partial<APIResourceDiscovery> = {}): APIResourceDiscovery {
  const responseKind = { group: '', version: '', kind: 'Job' };
  return { resource: 'jobs', responseKind, scope: 'Namespaced', verbs: ['get', 'list'], ...rest };
}

/** The one resource of the one version of the one group. */
function onlyResource(views: readonly DiscoveryView[]): APIResourceDiscovery | undefined {
  return mergeDiscovery(views).groups[0]?.versions?.[0]?.resources?.[0];
}

function versionsOf(views: readonly DiscoveryView[]): string[] | undefined {
  return mergeDiscovery(views).groups[0]?.versions?.map(({ version }) => version);
}

function freshness(views: readonly DiscoveryView[]): Record<string, string | undefined> {
  return Object.fromEntries(
    mergeDiscovery(views).groups.map(({ metadata, versions }) => [
      metadata.name ?? '',
      versions?.[0]?.freshness,
    ]),
  );
}

describe('groups', () => {
  const names = (views: readonly DiscoveryView[]) =>
    mergeDiscovery(views).groups.map(({ metadata }) => metadata.name ?? '');

  test('stand in the leading server’s order, wherever this router is', () => {
    const older = view('a', [group('policy', 'v1'), group('apps', 'v1'), group('extra', 'v1')], {
      version: 'v1.29.9',
    });
    const newer = view('b', [group('apps', 'v1'), group('policy', 'v1')]);
    assert.deepEqual(names([older, newer]), ['apps', 'extra', 'policy']);
  });

  test('begin with the legacy group', () => {
    const legacy = { metadata: {}, versions: [{ version: 'v1' }] };
    assert.deepEqual(names([view('a', [group('apps', 'v1')]), view('b', [group('apps', 'v1'), legacy])]), [
      '',
      'apps',
    ]);
  });

  test('without any version are not shown', () => {
    assert.deepEqual(names([view('a', [group('gone'), group('apps', 'v1')])]), ['apps']);
  });
});

describe('versions', () => {
  test('of differing servers stand in Kubernetes’ order and not in that of strings', () => {
    const one = view('a', [group('example.com', 'v10', 'v1beta1')]);
    const other = view('b', [group('example.com', 'v2', 'v1alpha1')]);
    assert.deepEqual(versionsOf([one, other]), ['v10', 'v2', 'v1beta1', 'v1alpha1']);
  });

  test('keep an order that all servers agree on, as an APIService’s versionPriority sets it', () => {
    const views = ['a', 'b'].map((id) => view(id, [group('example.com', 'v1beta1', 'v1')]));
    assert.deepEqual(versionsOf(views), ['v1beta1', 'v1']);
  });
});

describe('a resource that servers describe differently', () => {
  const leading = { version: 'v1.31.0' };

  test('has the verbs of all, sorted; verbs that all agree on keep their order', () => {
    const unsorted = ['list', 'get'];
    assert.deepEqual(
      onlyResource([
        view('a', batchOf(jobs({ verbs: unsorted }))),
        view('b', batchOf(jobs({ verbs: ['watch', 'get'] }))),
      ])?.verbs,
      ['get', 'list', 'watch'],
    );
    assert.deepEqual(
      onlyResource([
        view('a', batchOf(jobs({ verbs: unsorted }))),
        view('b', batchOf(jobs({ verbs: unsorted }))),
      ])?.verbs,
      unsorted,
    );
  });

  test('has short names, categories and singular of the newest server', () => {
    const old = jobs({ singularResource: '', shortNames: ['jo'], categories: ['all'] });
    const young = jobs({ singularResource: 'job', shortNames: ['jb'], categories: [] });
    assert.deepEqual(onlyResource([view('a', batchOf(old)), view('b', batchOf(young), leading)]), young);
  });

  test('has the subresources of all, by name, each with all its verbs', () => {
    const one = jobs({ subresources: [{ subresource: 'status', verbs: ['get'] }] });
    const other = jobs({
      subresources: [
        { subresource: 'scale', verbs: ['get'] },
        { subresource: 'status', verbs: ['update'] },
      ],
    });
    assert.deepEqual(onlyResource([view('a', batchOf(one)), view('b', batchOf(other))])?.subresources, [
      { subresource: 'scale', verbs: ['get'] },
      { subresource: 'status', verbs: ['get', 'update'] },
    ]);
  });

  test('takes its kind from whoever knows one', () => {
    const parentOnly = jobs({ responseKind: { group: '', version: '', kind: '' } });
    const views = [view('a', batchOf(parentOnly), leading), view('b', batchOf(jobs()))];
    assert.equal(onlyResource(views)?.responseKind?.kind, 'Job');
  });
});

test('of kinds and scopes that exclude each other those of the leading server are shown', () => {
  const old = jobs({ scope: 'Cluster', responseKind: { kind: 'OldJob' } });
  const views = [view('a', batchOf(old), { version: 'v1.29.0' }), view('b', batchOf(jobs()))];
  assert.deepEqual(onlyResource(views), jobs());
});

describe('freshness', () => {
  const apps = group('apps', 'v1');
  const batch = group('batch', 'v1');

  test('is Stale for what only a server serves that could not be read, and the group stays', () => {
    const views = [view('a', [apps, batch], { stale: true }), view('b', [apps])];
    assert.deepEqual(freshness(views), { apps: 'Current', batch: 'Stale' });
  });

  test('is Stale for what only a server serves that has no address', () => {
    const views = [view('a', [apps, batch], { reachable: false }), view('b', [apps])];
    assert.deepEqual(freshness(views), { apps: 'Current', batch: 'Stale' });
  });

  test('is Current for what every server serves, though none has an address', () => {
    const views = [view('a', [apps, batch], { reachable: false }), view('b', [apps], { reachable: false })];
    assert.deepEqual(freshness(views), { apps: 'Current', batch: 'Stale' });
    assert.deepEqual(freshness([view('a', [apps], { reachable: false })]), { apps: 'Current' });
  });

  test('is Current as soon as one server that can be reached serves it', () => {
    const shared = [apps, batch];
    const views = [
      view('a', shared, { stale: true }),
      view('b', shared, { reachable: false }),
      view('c', shared),
    ];
    assert.deepEqual(freshness(views), { apps: 'Current', batch: 'Current' });
  });

  test('of a server’s own is kept while no other server knows better', () => {
    const stale = group('example.com', { version: 'v1', freshness: 'Stale' });
    assert.deepEqual(freshness([view('a', [stale])]), { 'example.com': 'Stale' });
    assert.deepEqual(freshness([view('a', [stale]), view('b', [group('example.com', 'v1')])]), {
      'example.com': 'Current',
    });
  });
});

test('a storage version hash is that of the leading server, also where servers share their groups', () => {
  const groups = batchOf(jobs());
  const [newer, older] = ['8aSe+NMegvE=', 'mudhfqk/qZY='].map((hash) => ({ 'batch.jobs': hash }));
  const views = [
    view('a', groups, { storageVersionHashes: newer }),
    view('b', groups, { storageVersionHashes: older, version: 'v1.29.0' }),
  ];
  assert.deepEqual([...mergeDiscovery(views).storageVersionHashes], [['batch/v1/jobs', '8aSe+NMegvE=']]);
});

const discovery = [{ metadata: { name: 'batch' }, versions: [{ version: 'v1', resources: [] }] }];

function staleness(stale: Readonly<Record<string, boolean>>): boolean[] {
  const servers = Object.entries(stale).map(
    ([id, isStale]) => [id, { serves: ['batch/v1/jobs'], discovery, stale: isStale }] as const,
  );
  return viewsOf(buildRoutingTable(snapshotOf(Object.fromEntries(servers)))).map((view) => view.stale);
}

test('a server that could not be read is stale beside one that could', () => {
  assert.deepEqual(staleness({ a: true, b: false }), [true, false]);
});

test('discovery is not stale as a whole when the sync job could read no server at all', () => {
  assert.deepEqual(staleness({ a: true, b: true }), [false, false]);
  assert.deepEqual(staleness({ a: true }), [false]);
});

test('the leading list keeps its order, which need not be alphabetical', () => {
  assert.deepEqual(
    consensusOrder([
      ['apps', 'events', 'autoscaling'],
      ['autoscaling', 'apps'],
    ]),
    ['apps', 'events', 'autoscaling'],
  );
});

test('what only another list has goes behind the neighbour it has there', () => {
  assert.deepEqual(
    consensusOrder([
      ['apps', 'policy'],
      ['apps', 'batch', 'policy', 'zoo'],
    ]),
    ['apps', 'batch', 'policy', 'zoo'],
  );
  assert.deepEqual(consensusOrder([['policy'], ['batch', 'policy']]), ['batch', 'policy']);
});

test('among names its list does not know it goes by name, so that sorted lists stay sorted', () => {
  assert.deepEqual(
    consensusOrder([
      ['a', 'c', 'e'],
      ['a', 'b'],
      ['a', 'd'],
    ]),
    ['a', 'b', 'c', 'd', 'e'],
  );
});

test('no lists give no names', () => {
  assert.deepEqual(consensusOrder([]), []);
});

const names = fc.array(fc.constantFrom(...'abcdefghij'));

test('every name comes once, and the names of the leading list in its order', () => {
  fc.assert(
    fc.property(fc.array(names, { minLength: 1 }), (lists) => {
      const order = consensusOrder(lists);
      assert.deepEqual(order.toSorted(), [...new Set(lists.flat())].sort());
      const leading = new Set(lists[0]);
      assert.deepEqual(
        order.filter((name) => leading.has(name)),
        [...leading],
      );
    }),
  );
});

test('lists that are all sorted give a sorted list', () => {
  fc.assert(
    fc.property(fc.array(names), (lists) => {
      const sorted = lists.map((list) => [...new Set(list)].sort());
      assert.deepEqual(consensusOrder(sorted), [...new Set(sorted.flat())].sort());
    }),
  );
});

test('two lists that do not contradict each other both keep their order', () => {
  const shuffled = fc.shuffledSubarray([...'abcdefghij'], { minLength: 10 });
  fc.assert(
    fc.property(shuffled, names, names, (total, one, two) => {
      const lists = [one, two].map((list) => total.filter((name) => list.includes(name)));
      const order = consensusOrder(lists);
      for (const list of lists) {
        assert.deepEqual(
          order.filter((name) => list.includes(name)),
          list,
        );
      }
    }),
  );
});

for (const [rule, versions, order] of [
  [
    'the newest version, by numbers and not by letters',
    { a: 'v1.9.0', b: 'v1.30.2', c: 'v1.30.10', d: 'v2.0.0' },
    'dcba',
  ],
  [
    'a release before its pre-releases, and those by number',
    { a: 'v1.34.0-alpha.2', b: 'v1.34.0', c: 'v1.34.0-alpha.10', d: 'v1.34.0-rc.0', e: 'v1.34.0-alpha' },
    'bdcae',
  ],
  ['the lower ID, whatever the build metadata', { b: 'v1.30.1+k3s2', a: 'v1.30.1+k3s1' }, 'ab'],
  ['the higher suffix of a vendor', { a: 'v1.30.1-gke.99', b: 'v1.30.1-gke.100' }, 'ba'],
  [
    'of equal versions the lower ID, and never an unknown version',
    { b: 'v1.30.1', a: 'v1.30.1', '0': undefined, '1': 'latest' },
    'ab01',
  ],
] as const) {
  test(`what leads is ${rule}`, () => {
    const servers = Object.entries(versions).map(([id, version]) => ({ id, version }));
    const sorted = servers.sort((left, right) => compareLeadership(left, right));
    assert.equal(sorted.map(({ id }) => id).join(''), order);
  });
}

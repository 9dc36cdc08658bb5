import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type ServerOptions, snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { openApiV3Index } from '../discovery/forms/openapi-v3-index.ts';
import { SharedWork } from '../runtime/shared-work.ts';
import type { ServedSet } from '../snapshot/format/schema.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { decide } from './decide.ts';
import type { Decision, DecisionContext, PreferredVersion } from './decision.ts';
import {
  comingPreference,
  goesElsewhere,
  isPreferredVersion,
  ledByPreference,
  preferredMinor,
} from './preferred-version.ts';

const serves = ['v1/pods', 'v1/pods/status', 'v1/pods/exec', 'autoscaling/v2/horizontalpodautoscalers'];
const autoscalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web';
const pods = '/api/v1/namespaces/default/pods';
const customResources = [{ group: 'example.com', version: 'v1' }];

/** Servers of each minor version have one schema of autoscalers; that of pods is the same in all. */
function schemasOf(minor: string): NonNullable<ServedSet['schemas']> {
  const digest = btoa(`min-${minor}`.padEnd(8, '.'));
  return { 'core.pods': { v1: 'c2FtZS4uLi4=' }, 'autoscaling.horizontalpodautoscalers': { v2: digest } };
}

function server(minor: string, more: Partial<ServerOptions> = {}): ServerOptions {
  return { serves, version: `v${minor}.2`, schemas: schemasOf(minor), ...more };
}

function tableOf(servers: Readonly<Record<string, ServerOptions>>): RoutingTable {
  return buildRoutingTable(snapshotOf(servers, { customResourceGroups: customResources }));
}

function decisionAt(
  table: RoutingTable,
  serverId: string | undefined,
  target: string,
  changes: Partial<DecisionContext> & { readonly method?: string; readonly version?: PreferredVersion } = {},
): Decision {
  const { method = 'GET', version = 'majority', ...context } = changes;
  return decide(parseRequestInfo(method, target), table, {
    serverId,
    reroutedByVerifiedPeer: false,
    preferredVersion: version,
    ...context,
  });
}

function told(decision: Decision): string {
  const ids = decision.candidates.map(({ id }) => id).join();
  return `${decision.decision} ${decision.reason} ${ids}`.trim();
}

const twoOldOneNew = { a: server('1.31'), b: server('1.31'), c: server('1.36') };

describe('a resource that servers of two versions understand differently', () => {
  const table = tableOf(twoOldOneNew);

  test('is answered by the version of the majority, at every router', () => {
    assert.equal(told(decisionAt(table, 'a', autoscalers)), 'local ServedLocally');
    assert.equal(told(decisionAt(table, 'b', autoscalers)), 'local ServedLocally');
    assert.equal(told(decisionAt(table, 'c', autoscalers)), 'peer PreferredVersion a,b');
    assert.equal(told(decisionAt(table, undefined, autoscalers)), 'peer PreferredVersion a,b');
  });

  test('is answered by the newest, the oldest or a named version where that is preferred', () => {
    assert.equal(told(decisionAt(table, 'a', autoscalers, { version: 'newest' })), 'peer PreferredVersion c');
    assert.equal(told(decisionAt(table, 'c', autoscalers, { version: 'newest' })), 'local ServedLocally');
    assert.equal(
      told(decisionAt(table, 'c', autoscalers, { version: 'oldest' })),
      'peer PreferredVersion a,b',
    );
    assert.equal(told(decisionAt(table, 'a', autoscalers, { version: '1.36' })), 'peer PreferredVersion c');
  });

  test('is answered as before with `local`', () => {
    assert.equal(told(decisionAt(table, 'c', autoscalers, { version: 'local' })), 'local ServedLocally');
    assert.equal(
      told(decisionAt(table, undefined, autoscalers, { version: 'local' })),
      'peer ServedByPeer a,b,c',
    );
  });

  test('follows for reads, watches and writes, subresources included', () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      assert.equal(
        told(decisionAt(table, 'c', autoscalers, { method })),
        'peer PreferredVersion a,b',
        method,
      );
    }
    const watch = '/apis/autoscaling/v2/horizontalpodautoscalers?watch=true';
    assert.equal(told(decisionAt(table, 'c', watch)), 'peer PreferredVersion a,b');
  });

  test('a version that nobody has means the nearest newer one', () => {
    assert.equal(told(decisionAt(table, 'a', autoscalers, { version: '1.33' })), 'peer PreferredVersion c');
    assert.equal(
      told(decisionAt(table, 'c', autoscalers, { version: '1.40' })),
      'local ServedLocally',
      'nobody is newer: the nearest older one',
    );
  });

  test('never takes a second hop', () => {
    const rerouted = decisionAt(table, 'c', autoscalers, { reroutedByVerifiedPeer: true });
    assert.equal(told(rerouted), 'local AlreadyRerouted');
  });

  test('names whom to ask when none of the version answers: newer ones first, then older ones', () => {
    const four = tableOf({ a: server('1.31'), b: server('1.33'), c: server('1.35'), d: server('1.36') });
    const decision = decisionAt(four, 'a', autoscalers, { version: '1.33' });
    assert.equal(told(decision), 'peer PreferredVersion b');
    const { versions } = decision as Extract<Decision, { decision: 'peer' }>;
    assert.deepEqual(
      versions?.others.map(({ minor }) => minor),
      ['1.35', '1.36', '1.31'],
    );
  });

  test('is answered by others of the version while the local server is down', () => {
    const decision = decisionAt(table, 'a', autoscalers, { localServerIsDown: true });
    assert.equal(told(decision), 'peer LocalServerDown b');
  });

  test('goes to the next version where none of the preferred one has an address', () => {
    const departed = tableOf({
      a: server('1.31', { departedAt: '2026-01-01T00:00:00Z', stale: true }),
      b: server('1.31', { withoutAddress: true }),
      c: server('1.36'),
    });
    const decision = decisionAt(departed, 'c', autoscalers) as Extract<Decision, { decision: 'peer' }>;
    assert.equal(told(decision), 'peer PreferredVersion c');
    assert.deepEqual([decision.versions?.preferred, decision.versions?.asked], ['1.31', '1.36']);
  });
});

describe('what does not differ', () => {
  test('stays with the local server', () => {
    const table = tableOf(twoOldOneNew);
    assert.equal(told(decisionAt(table, 'c', pods)), 'local ServedLocally');
    assert.equal(told(decisionAt(table, 'c', pods, { method: 'POST' })), 'local ServedLocally');
    const custom = '/apis/example.com/v1/widgets';
    assert.equal(told(decisionAt(table, 'c', custom, { method: 'POST' })), 'local CustomResource');
  });

  test('is not what nobody has compared yet: until then everything differs that servers of several versions share, and what they enforce', () => {
    const { schemas: _schemas, ...notRead } = server('1.36');
    for (const a of [server('1.31'), { ...server('1.31'), schemas: undefined }]) {
      const table = tableOf({ a, b: a, c: notRead });
      assert.equal(told(decisionAt(table, 'c', pods)), 'peer PreferredVersion a,b');
      assert.equal(told(decisionAt(table, 'a', pods)), 'local ServedLocally');
      const custom = '/apis/example.com/v1/widgets';
      assert.equal(told(decisionAt(table, 'c', custom, { method: 'POST' })), 'peer PreferredVersion a,b');
      assert.equal(told(decisionAt(table, 'c', custom)), 'local CustomResource');
      assert.equal(table.comparison?.isComplete, false);
    }
  });

  test('a schema that could not be read differs from that of another minor version, and of no other', () => {
    const unread = tableOf({ a: server('1.31'), b: server('1.31'), c: server('1.36', { schemas: {} }) });
    assert.equal(told(decisionAt(unread, 'c', pods)), 'peer PreferredVersion a,b');
    const alike = tableOf({ a: server('1.31'), b: server('1.31', { schemas: {} }) });
    assert.equal(told(decisionAt(alike, 'b', pods)), 'local ServedLocally');
  });

  test('a version to store at that differs counts as well', () => {
    const storedAt = (hash: string) => ({ storageVersionHashes: { 'core.pods': hash } });
    const table = tableOf({
      a: server('1.31', storedAt('8aSe+NMegvE=')),
      b: server('1.31', storedAt('8aSe+NMegvE=')),
      c: server('1.36', storedAt('Ivx0Wd1cNXU=')),
    });
    assert.equal(told(decisionAt(table, 'c', pods)), 'peer PreferredVersion a,b');
  });
});

describe('servers that enforce different admission policies', () => {
  const policies = 'admissionregistration.k8s.io/v1/mutatingadmissionpolicies';
  const table = tableOf({
    a: server('1.31'),
    b: server('1.36', { serves: [...serves, policies] }),
    c: server('1.36', { serves: [...serves, policies] }),
  });

  test('every write goes to the preferred version, of custom resources too; reads stay', () => {
    const custom = '/apis/example.com/v1/widgets';
    assert.equal(told(decisionAt(table, 'a', pods, { method: 'POST' })), 'peer PreferredVersion b,c');
    assert.equal(told(decisionAt(table, 'a', custom, { method: 'POST' })), 'peer PreferredVersion b,c');
    assert.equal(told(decisionAt(table, 'a', `${pods}/web/exec`)), 'peer PreferredVersion b,c');
    assert.equal(told(decisionAt(table, 'a', pods)), 'local ServedLocally');
    assert.equal(told(decisionAt(table, 'a', custom)), 'local CustomResource');
  });
});

const minors = ['1.29', '1.30', '1.31', '1.36'] as const;
const arbitraryServers = fc
  .array(fc.record({ minor: fc.constantFrom(...minors), reachable: fc.boolean(), stale: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
  })
  .map((servers) =>
    Object.fromEntries(
      servers.map(({ minor, reachable, stale }, index) => [
        `s${index}`,
        server(minor, { withoutAddress: !reachable, ...(stale ? { stale } : {}) }),
      ]),
    ),
  );
const arbitraryVersion = fc.constantFrom<PreferredVersion>('majority', 'newest', 'oldest', '1.30', '1.33');
const arbitraryMethod = fc.constantFrom('GET', 'POST', 'PUT', 'PATCH', 'DELETE');
const arbitraryTarget = fc.constantFrom(autoscalers, pods, '/apis/example.com/v1/widgets');

describe('properties', () => {
  test('every router with one snapshot chooses one version, as long as one server of it can be asked', () => {
    fc.assert(
      fc.property(arbitraryServers, arbitraryVersion, arbitraryMethod, (servers, version, method) => {
        const table = tableOf(servers);
        const chosen = new Set<string | undefined>();
        for (const { id, origin } of table.servers) {
          if (origin === undefined) continue;
          const decision = decisionAt(table, id, autoscalers, { version, method });
          const asked = decision.decision === 'local' ? [id] : decision.candidates.map((each) => each.id);
          for (const each of asked) chosen.add(table.server(each)?.minor);
        }
        // A router whose own server has no address for others knows of one server more.
        assert.ok(chosen.size <= 1, [...chosen].join());
      }),
    );
  });

  test('a cluster of one version, and `local`, decide exactly as without a comparison', () => {
    fc.assert(
      fc.property(
        arbitraryServers,
        fc.boolean(),
        arbitraryTarget,
        arbitraryMethod,
        (servers, isOneVersion, target, method) => {
          const alike = Object.fromEntries(
            Object.entries(servers).map(([id, each]) => [
              id,
              isOneVersion ? { ...each, version: 'v1.31.1', schemas: schemasOf('1.31') } : each,
            ]),
          );
          const uncompared = Object.fromEntries(
            Object.entries(alike).map(([id, { schemas: _schemas, ...each }]) => [id, each]),
          );
          const version = isOneVersion ? 'majority' : 'local';
          for (const id of [...Object.keys(servers), undefined]) {
            const one = decisionAt(tableOf(alike), id, target, { method, version });
            const other = decisionAt(tableOf(uncompared), id, target, { method, version });
            assert.equal(told(one), told(other));
          }
        },
      ),
    );
  });

  test('no candidate is an older version than one that could be asked in its place', () => {
    fc.assert(
      fc.property(arbitraryServers, arbitraryVersion, (servers, version) => {
        const table = tableOf(servers);
        const decision = decisionAt(table, undefined, autoscalers, { version });
        if (decision.decision !== 'peer' || decision.versions === undefined) return;
        const ids = new Set(decision.candidates.map(({ id }) => id));
        for (const { reachable } of decision.versions.others) {
          for (const { id } of reachable) assert.ok(!ids.has(id));
        }
        const named = ids.size + decision.versions.others.flatMap(({ reachable }) => reachable).length;
        assert.equal(named, table.reachable.length, 'nobody is left out');
      }),
    );
  });
});

describe('a watch', () => {
  const target = '/apis/autoscaling/v2/horizontalpodautoscalers?watch=true';
  const early = tableOf(twoOldOneNew);
  const late = tableOf({ a: server('1.31'), b: server('1.36'), c: server('1.36') });
  const moves = (table: RoutingTable, router: string, at: string) =>
    goesElsewhere(decisionAt(early, router, target), decisionAt(table, router, target), at, at === router);

  test('moves from a server when another version is to answer, and stays while it is the one', () => {
    assert.equal(moves(early, 'a', 'a'), false);
    assert.equal(moves(late, 'a', 'a'), true, 'from the local server to a peer');
    assert.equal(moves(early, 'c', 'a'), false);
    assert.equal(moves(late, 'c', 'a'), true, 'from a peer to the local server');
  });

  test('that went to a peer while all were alike moves to the local server when that has the version that responds', () => {
    const alike = tableOf({ a: server('1.31'), b: server('1.31'), c: server('1.31') });
    const before = decisionAt(alike, 'c', target);
    const now = decisionAt(late, 'c', target);
    assert.deepEqual([before.decision, now.decision], ['local', 'local']);
    // The local server was down when it was opened.
    assert.equal(goesElsewhere(before, now, 'a', false, true), true);
    assert.equal(goesElsewhere(before, now, 'b', false, false), false, 'a peer of the same version');
  });

  test('on what does not differ stays', () => {
    const podsAt = (table: RoutingTable) => decisionAt(table, 'a', `${pods}?watch=true`);
    assert.equal(goesElsewhere(podsAt(early), podsAt(late), 'a', true), false);
  });
});

describe('documents', () => {
  const held = (minor: string) =>
    server(minor, {
      openapiV3: { 'apis/autoscaling/v2': `/openapi/v3/apis/autoscaling/v2?hash=${minor.replace('.', '')}` },
    });
  const table = tableOf({ a: held('1.31'), b: held('1.33'), c: held('1.36') });
  const indexed = (version: PreferredVersion) =>
    JSON.stringify(new SharedWork(openApiV3Index(ledByPreference(table, version, table.createdAt))).now());

  test('are those of the version that responds', () => {
    assert.match(indexed('oldest'), /hash=131/);
    assert.match(indexed('newest'), /hash=136/);
    assert.match(indexed('1.33'), /hash=133/);
    assert.match(indexed('1.32'), /hash=133/, 'the nearest newer one, as for requests');
    assert.match(indexed('local'), /hash=136/, 'the newest, as without a preference');
  });
});

describe('load', () => {
  /** Requests each server gets where each of the routers gets one for what differs, as shares of an even spread. */
  function shares(table: RoutingTable): number[] {
    const { servers } = table;
    const load = new Map(servers.map(({ id }) => [id, 0]));
    for (const { id } of servers) {
      const { decision, candidates } = decisionAt(table, id, autoscalers);
      const asked = decision === 'local' ? [id] : candidates.map((each) => each.id);
      for (const each of asked) load.set(each, (load.get(each) ?? 0) + 1 / asked.length);
    }
    return [...load.values()];
  }

  test('with one of three upgraded, and with two, no server gets more than 1.5 times its share', () => {
    for (const [a, b, c] of [
      ['1.31', '1.31', '1.36'],
      ['1.31', '1.36', '1.36'],
    ] as const) {
      const load = shares(tableOf({ a: server(a), b: server(b), c: server(c) }));
      assert.ok(Math.max(...load) <= 1.5, load.join());
    }
  });
});

test('a preferred version is one of four words or a minor version', () => {
  for (const good of ['majority', 'newest', 'oldest', 'local', '1.36', '2.0'])
    assert.ok(isPreferredVersion(good));
  for (const bad of ['', '1', 'v1.36', '1.36.0', '01.3', '1.', 'Majority', '1.36 ']) {
    assert.ok(!isPreferredVersion(bad), bad);
  }
});

describe('a change of a moment ago', () => {
  const start = Date.UTC(2026, 0, 31);
  const at = (seconds: number) => new Date(start + seconds * 1_000).toISOString();
  /** Two of three have been upgraded: c counts from the tenth second on, b from the twentieth. */
  const versionChanges = [
    { server: 'b', from: '1.35', to: '1.36', at: at(20) },
    { server: 'c', from: '1.35', to: '1.36', at: at(10) },
  ];
  const servers = { a: server('1.35'), b: server('1.36'), c: server('1.36') };
  const table = buildRoutingTable(
    snapshotOf(servers, { versionChanges, customResourceGroups: customResources }),
  );
  const answering = (version: PreferredVersion, seconds: number) =>
    ['a', 'b', undefined].map((serverId) => {
      const { decision, candidates } = decisionAt(table, serverId, autoscalers, {
        version,
        now: start + seconds * 1_000,
      });
      return decision === 'local' ? serverId : candidates.map(({ id }) => id).join();
    });

  test('counts at its instant, at every router: until then the version of before goes on', () => {
    for (const seconds of [0, 10, 19.999]) assert.deepEqual(answering('majority', seconds), ['a', 'a', 'a']);
    for (const seconds of [20, 100]) assert.deepEqual(answering('majority', seconds), ['b,c', 'b', 'b,c']);
    assert.deepEqual(answering('newest', 9.999), ['a', 'a', 'a']);
    // b has been upgraded, and does not count yet: another router may not know it.
    for (const seconds of [10, 19.999]) assert.deepEqual(answering('newest', seconds), ['c', 'c', 'c']);
    assert.deepEqual(answering('newest', 20), ['b,c', 'b', 'b,c']);
    assert.deepEqual(answering('1.36', 9.999), ['a', 'a', 'a']);
    assert.deepEqual(answering('oldest', 100), ['a', 'a', 'a']);
  });

  test('is told before: the version, and from when on', () => {
    const majority = 'majority';
    assert.deepEqual(comingPreference(table, majority, start), {
      minor: '1.36',
      at: start + 20_000,
      waitFrom: start + 18_000,
    });
    assert.equal(comingPreference(table, majority, start + 20_000), undefined);
    assert.deepEqual(comingPreference(table, 'newest', start), {
      minor: '1.36',
      at: start + 10_000,
      waitFrom: start + 8_000,
    });
    assert.equal(comingPreference(table, 'oldest', start), undefined);
  });

  test('is waited for where nobody knows what others go by, though the version stays', () => {
    const unknown = ['a', 'b', 'c'].map((id) => ({
      server: id,
      to: id === 'a' ? '1.35' : '1.36',
      at: at(10),
    }));
    const begun = buildRoutingTable(snapshotOf(servers, { versionChanges: unknown }));
    assert.deepEqual(comingPreference(begun, 'majority', start), {
      minor: '1.36',
      at: start + 10_000,
      waitFrom: Number.NEGATIVE_INFINITY,
    });
    assert.equal(comingPreference(begun, 'majority', start + 10_000), undefined);
  });

  test('is waited for while another router may go by it, though this one never does', () => {
    // This router learned late that b was upgraded. Another one, which has known it for long, counts b before c goes back.
    const late = buildRoutingTable(
      snapshotOf(
        { ...servers, c: server('1.35') },
        {
          versionChanges: [
            { server: 'c', from: '1.36', to: '1.35', at: at(10), waitFrom: at(8) },
            { server: 'b', from: '1.35', to: '1.36', at: at(12), waitFrom: at(2) },
          ],
        },
      ),
    );
    for (const seconds of [0, 12])
      assert.equal(preferredMinor(late, 'majority', start + seconds * 1_000), '1.35');
    assert.deepEqual(comingPreference(late, 'majority', start), {
      minor: '1.35',
      at: start + 10_000,
      waitFrom: start + 2_000,
    });
  });

  test('does not hold up a request where no server of the version of before is left', () => {
    const gone = buildRoutingTable(
      snapshotOf({ ...servers, a: { ...servers.a, withoutAddress: true } }, { versionChanges }),
    );
    assert.equal(told(decisionAt(gone, 'b', autoscalers, { now: start })), 'peer PreferredVersion b,c');
  });

  test('comes out alike in however many snapshots, and in whatever order, the changes were noticed', () => {
    const minor = fc.constantFrom('1.34', '1.35', '1.36', undefined);
    const change = fc.record({ from: minor, to: minor, seconds: fc.integer({ min: 0, max: 60 }) });
    fc.assert(
      fc.property(fc.array(change, { maxLength: 6 }), fc.integer({ min: -1, max: 61 }), (given, seconds) => {
        const changes = given.map(({ from, to, seconds: after }, index) => ({
          server: `s${index}`,
          at: at(after),
          ...(from === undefined ? {} : { from }),
          ...(to === undefined ? {} : { to }),
        }));
        const [one, other] = [changes, changes.toReversed()].map((each) => {
          const { comparison } = buildRoutingTable(snapshotOf(servers, { versionChanges: each }));
          return preferredMinor({ comparison }, undefined, start + seconds * 1_000);
        });
        assert.equal(one, other);
        const over = buildRoutingTable(snapshotOf(servers, { versionChanges: changes }));
        assert.equal(
          preferredMinor(over, undefined, start + 61_000),
          '1.36',
          'once all is past, what is there counts',
        );
      }),
    );
  });
});

test('what no resource is comes from one version at a gateway, and from the local server of a sidecar', () => {
  const table = tableOf(twoOldOneNew);
  for (const path of ['/version', '/openid/v1/jwks', '/.well-known/openid-configuration', '/', '/version/']) {
    assert.equal(told(decisionAt(table, undefined, path)), 'peer NotAResourceRequest a,b', path);
    assert.equal(
      told(decisionAt(table, undefined, path, { version: 'newest' })),
      'peer NotAResourceRequest c',
      path,
    );
    assert.equal(told(decisionAt(table, 'c', path)), 'local NotAResourceRequest', path);
  }
  const uniform = tableOf({ a: server('1.36'), b: server('1.36') });
  assert.equal(told(decisionAt(uniform, undefined, '/version')), 'peer NotAResourceRequest a,b');
});

describe('servers of one program that were started differently', () => {
  const like = (more: Partial<ServerOptions>) => server('1.36', more);
  const [before, after] = ['0c11d5aa', '7fe90b12'];

  test('other feature gates: everything that they share differs, and goes to those that most servers have', () => {
    const table = tableOf({
      a: like({ featureGates: before }),
      b: like({ featureGates: before }),
      c: like({ featureGates: after }),
    });
    assert.equal(preferredMinor(table), `1.36, feature gates ${before}`);
    assert.equal(told(decisionAt(table, 'c', pods, { method: 'POST' })), 'peer PreferredVersion a,b');
    assert.equal(told(decisionAt(table, 'c', pods)), 'peer PreferredVersion a,b');
    assert.equal(told(decisionAt(table, 'a', pods)), 'local ServedLocally');
  });

  test('two programs have gates of their own: there schemas say what differs', () => {
    const table = tableOf({
      a: server('1.35', { featureGates: before }),
      b: server('1.36', { featureGates: after }),
    });
    assert.equal(told(decisionAt(table, 'a', pods)), 'local ServedLocally');
    assert.equal(told(decisionAt(table, 'a', autoscalers)), 'peer PreferredVersion b');
  });

  test('other APIs: what has one schema does not differ', () => {
    const table = tableOf({ a: like({ apis: before }), b: like({ apis: before }), c: like({ apis: after }) });
    assert.equal(preferredMinor(table), `1.36, APIs ${before}`);
    assert.equal(told(decisionAt(table, 'c', pods)), 'local ServedLocally');
  });

  test('not compared yet, they differ in everything', () => {
    const unread = { apis: before, schemas: undefined } as const;
    const table = tableOf({ a: like(unread), b: like(unread), c: like({ apis: after }) });
    assert.equal(told(decisionAt(table, 'c', pods)), 'peer PreferredVersion a,b');
  });

  test('an emulated version is the older one, for every preference', () => {
    const emulating = like({ emulates: '1.35' });
    const table = tableOf({ a: emulating, b: like({}), c: like({}) });
    const prefer = (version: PreferredVersion) => preferredMinor(table, version);
    assert.equal(prefer('majority'), '1.36');
    assert.equal(prefer('newest'), '1.36');
    assert.equal(prefer('oldest'), '1.36 emulating 1.35');
    assert.equal(prefer('1.35'), '1.36 emulating 1.35');
    assert.equal(prefer('1.36'), '1.36');
    assert.equal(prefer('local'), undefined);
    assert.equal(preferredMinor(tableOf({ a: emulating, b: emulating, c: like({}) })), '1.36 emulating 1.35');
  });
});

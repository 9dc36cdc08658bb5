import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  autoscalers,
  decided,
  decisionAt,
  pods,
  server,
  serves,
  tableOf,
  told,
  twoOldOneNew,
} from '../../test/support/clusters/versioned-servers.ts';
import type { ServerOptions } from '../../test/support/snapshots/snapshot-builder.ts';
import { openApiV3Index } from '../discovery/forms/openapi-v3-index.ts';
import { SharedWork } from '../runtime/shared-work.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import type { Decision, PreferredVersion } from './decision.ts';
import { isPreferredVersion, ledByPreference, preferredMinor } from './preferred-version.ts';

describe('a resource that servers of two versions understand differently', () => {
  const table = tableOf(twoOldOneNew);

  test('is answered by the version of the majority, at every router', () => {
    assert.equal(decided(table, 'a', autoscalers), 'local ServedLocally');
    assert.equal(decided(table, 'b', autoscalers), 'local ServedLocally');
    assert.equal(decided(table, 'c', autoscalers), 'peer PreferredVersion a,b');
    assert.equal(decided(table, undefined, autoscalers), 'peer PreferredVersion a,b');
  });

  test('is answered by the newest, the oldest or a named version where that is preferred', () => {
    assert.equal(decided(table, 'a', autoscalers, { version: 'newest' }), 'peer PreferredVersion c');
    assert.equal(decided(table, 'c', autoscalers, { version: 'newest' }), 'local ServedLocally');
    assert.equal(decided(table, 'c', autoscalers, { version: 'oldest' }), 'peer PreferredVersion a,b');
    assert.equal(decided(table, 'a', autoscalers, { version: '1.36' }), 'peer PreferredVersion c');
  });

  test('is answered as before with `local`', () => {
    assert.equal(decided(table, 'c', autoscalers, { version: 'local' }), 'local ServedLocally');
    assert.equal(decided(table, undefined, autoscalers, { version: 'local' }), 'peer ServedByPeer a,b,c');
  });

  test('follows for reads, watches and writes, subresources included', () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']) {
      assert.equal(decided(table, 'c', autoscalers, { method }), 'peer PreferredVersion a,b', method);
    }
    const watch = '/apis/autoscaling/v2/horizontalpodautoscalers?watch=true';
    assert.equal(decided(table, 'c', watch), 'peer PreferredVersion a,b');
  });

  test('a version that nobody has means the nearest newer one', () => {
    assert.equal(decided(table, 'a', autoscalers, { version: '1.33' }), 'peer PreferredVersion c');
    assert.equal(
      decided(table, 'c', autoscalers, { version: '1.40' }),
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
    assert.equal(decided(table, 'c', pods), 'local ServedLocally');
    assert.equal(decided(table, 'c', pods, { method: 'POST' }), 'local ServedLocally');
    const custom = '/apis/example.com/v1/widgets';
    assert.equal(decided(table, 'c', custom, { method: 'POST' }), 'local CustomResource');
  });

  test('is not what nobody has compared yet: until then everything differs that servers of several versions share, and what they enforce', () => {
    const { schemas: _schemas, ...notRead } = server('1.36');
    for (const a of [server('1.31'), { ...server('1.31'), schemas: undefined }]) {
      const table = tableOf({ a, b: a, c: notRead });
      assert.equal(decided(table, 'c', pods), 'peer PreferredVersion a,b');
      assert.equal(decided(table, 'a', pods), 'local ServedLocally');
      const custom = '/apis/example.com/v1/widgets';
      assert.equal(decided(table, 'c', custom, { method: 'POST' }), 'peer PreferredVersion a,b');
      assert.equal(decided(table, 'c', custom), 'local CustomResource');
      assert.equal(table.comparison?.isComplete, false);
    }
  });

  test('a schema that could not be read differs from that of another minor version, and of no other', () => {
    const unread = tableOf({ a: server('1.31'), b: server('1.31'), c: server('1.36', { schemas: {} }) });
    assert.equal(decided(unread, 'c', pods), 'peer PreferredVersion a,b');
    const alike = tableOf({ a: server('1.31'), b: server('1.31', { schemas: {} }) });
    assert.equal(decided(alike, 'b', pods), 'local ServedLocally');
  });

  test('a version to store at that differs counts as well', () => {
    const storedAt = (hash: string) => ({ storageVersionHashes: { 'core.pods': hash } });
    const table = tableOf({
      a: server('1.31', storedAt('8aSe+NMegvE=')),
      b: server('1.31', storedAt('8aSe+NMegvE=')),
      c: server('1.36', storedAt('Ivx0Wd1cNXU=')),
    });
    assert.equal(decided(table, 'c', pods), 'peer PreferredVersion a,b');
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
    assert.equal(decided(table, 'a', pods, { method: 'POST' }), 'peer PreferredVersion b,c');
    assert.equal(decided(table, 'a', custom, { method: 'POST' }), 'peer PreferredVersion b,c');
    assert.equal(decided(table, 'a', `${pods}/web/exec`), 'peer PreferredVersion b,c');
    assert.equal(decided(table, 'a', pods), 'local ServedLocally');
    assert.equal(decided(table, 'a', custom), 'local CustomResource');
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

test('what no resource is comes from one version at a gateway, and from the local server of a sidecar', () => {
  const table = tableOf(twoOldOneNew);
  for (const path of ['/version', '/openid/v1/jwks', '/.well-known/openid-configuration', '/', '/version/']) {
    assert.equal(decided(table, undefined, path), 'peer NotAResourceRequest a,b', path);
    assert.equal(decided(table, undefined, path, { version: 'newest' }), 'peer NotAResourceRequest c', path);
    assert.equal(decided(table, 'c', path), 'local NotAResourceRequest', path);
  }
  const uniform = tableOf({ a: server('1.36'), b: server('1.36') });
  assert.equal(decided(uniform, undefined, '/version'), 'peer NotAResourceRequest a,b');
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
    assert.equal(decided(table, 'c', pods, { method: 'POST' }), 'peer PreferredVersion a,b');
    assert.equal(decided(table, 'c', pods), 'peer PreferredVersion a,b');
    assert.equal(decided(table, 'a', pods), 'local ServedLocally');
  });

  test('two programs have gates of their own: there schemas say what differs', () => {
    const table = tableOf({
      a: server('1.35', { featureGates: before }),
      b: server('1.36', { featureGates: after }),
    });
    assert.equal(decided(table, 'a', pods), 'local ServedLocally');
    assert.equal(decided(table, 'a', autoscalers), 'peer PreferredVersion b');
  });

  test('other APIs: what has one schema does not differ', () => {
    const table = tableOf({ a: like({ apis: before }), b: like({ apis: before }), c: like({ apis: after }) });
    assert.equal(preferredMinor(table), `1.36, APIs ${before}`);
    assert.equal(decided(table, 'c', pods), 'local ServedLocally');
  });

  test('not compared yet, they differ in everything', () => {
    const unread = { apis: before, schemas: undefined } as const;
    const table = tableOf({ a: like(unread), b: like(unread), c: like({ apis: after }) });
    assert.equal(decided(table, 'c', pods), 'peer PreferredVersion a,b');
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

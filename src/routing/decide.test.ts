import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { decisionRows, localId, mixedCluster } from '../../test/support/clusters/decision-rows.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { decide } from './decide.ts';
import type { DecisionContext } from './decision.ts';

for (const row of decisionRows) {
  const table = row.snapshot === 'none' ? undefined : buildRoutingTable(row.snapshot ?? mixedCluster);
  const context: DecisionContext = {
    serverId: localId,
    reroutedByVerifiedPeer: row.mark === 'verified-peer',
    query: row.target.split('?')[1],
  };
  const requestInfo = parseRequestInfo(row.method ?? 'GET', row.target);

  test(`rule ${row.name}`, () => {
    const { decision, reason, candidates } = decide(requestInfo, table, context);
    assert.deepEqual(
      { decision, reason, candidates: candidates.map((server) => server.id) },
      { decision: row.decision, reason: row.reason, candidates: row.candidates ?? [] },
    );
  });

  test(`rule ${row.name}: the trace ends at the rule that matched and changes nothing`, () => {
    const steps: [rule: string, matched: boolean, detail: string][] = [];
    assert.deepEqual(
      decide(requestInfo, table, { ...context, trace: (...step) => steps.push(step) }),
      decide(requestInfo, table, context),
    );
    assert.equal(
      steps.findIndex(([, matched]) => matched),
      steps.length - 1,
    );
    assert.equal(steps.at(-1)?.[0][0], traceRule(row));
  });
}

/** The rule at which the walk ends: the row's own, but for a mark that does not count. */
function traceRule(row: (typeof decisionRows)[number]): string | undefined {
  return row.mark === 'anyone' ? '7' : row.name[0];
}

test('a decision other than peer is the same object each time: nothing is allocated', () => {
  const table = buildRoutingTable(mixedCluster);
  const context: DecisionContext = {
    serverId: localId,
    reroutedByVerifiedPeer: false,
  };
  for (const target of ['/version', '/api/v1/pods', '/apis/example.com/v1/widgets', '/apis/x.example/v1/y']) {
    const requestInfo = parseRequestInfo('GET', target);
    assert.equal(decide(requestInfo, table, context), decide(requestInfo, table, context));
  }
});

const table = buildRoutingTable(mixedCluster);
const everyServer = ['local', 'peer-1', 'peer-2', 'peer-3'];
const context: DecisionContext = {
  reroutedByVerifiedPeer: false,
};

function decided(target: string, changes: Partial<DecisionContext> = {}, known?: RoutingTable | 'none') {
  const requestInfo = parseRequestInfo('GET', target);
  const decision = decide(requestInfo, known === 'none' ? undefined : (known ?? table), {
    ...context,
    query: target.split('?')[1],
    ...changes,
  });
  const ids = decision.candidates.map(({ id }) => id);
  return `${decision.decision} ${decision.reason} ${ids.join()}`.trim();
}

const jobs = '/apis/batch/v1/namespaces/default/jobs';

describe('a gateway', () => {
  test('sends a request to any server that serves the resource, none closer than another', () => {
    assert.equal(decided('/api/v1/namespaces/default/pods'), 'peer ServedByPeer local,peer-1,peer-2');
    assert.equal(decided(jobs), 'peer ServedByPeer peer-1,peer-2');
    assert.equal(decided('/api/v1/namespaces/default/pods/web/resize'), 'peer ServedByPeer peer-1');
  });

  test('sends what every server can serve to any of them', () => {
    const all = everyServer.join();
    assert.equal(decided('/metrics'), `peer NotAResourceRequest ${all}`);
    assert.equal(decided('/apis'), `peer MergedDocument ${all}`);
    assert.equal(decided('/apis/example.com/v1/widgets'), `peer CustomResource ${all}`);
    assert.equal(decided('/apis/metrics.k8s.io/v1beta1/nodes'), `peer ExtensionAPIServer ${all}`);
    assert.equal(decided('/apis/nosuch.example.com/v1/things'), `peer NotServedByAnyServer ${all}`);
  });

  test('sends a request for an OpenAPI document to a server that holds that very one', () => {
    assert.equal(decided('/openapi/v3/api/v1?hash=C0'), 'peer MergedDocument local');
    assert.equal(decided('/openapi/v3/api/v1?hash=C1'), 'peer MergedDocument peer-1');
  });

  test('knows nobody without a snapshot', () => {
    for (const target of [jobs, '/version', '/apis']) {
      assert.equal(decided(target, {}, 'none'), 'unavailable NoSnapshot');
    }
  });

  test('refuses what a verified peer has rerouted to it: passing it on would be its second hop', () => {
    for (const target of [jobs, '/version', '/apis', '/openapi/v3/api/v1?hash=C0']) {
      assert.equal(decided(target, { reroutedByVerifiedPeer: true }), 'unavailable AlreadyRerouted');
    }
  });

  test('responds with 503 when no server has an address', () => {
    const lost = buildRoutingTable(snapshotOf({ a: { serves: ['v1/pods'], withoutAddress: true } }));
    for (const target of ['/api/v1/pods', '/version', '/apis/x.example/v1/y']) {
      assert.equal(decided(target, {}, lost), 'unavailable PeerAddressUnknown', target);
    }
  });

  test('never decides on a local server, and says in the trace that it has none', () => {
    const contexts = fc.record({
      reroutedByVerifiedPeer: fc.boolean(),
      localServerIsDown: fc.boolean(),
    });
    const known = fc.constantFrom(undefined, table);
    fc.assert(
      fc.property(
        fc.constantFrom(...decisionRows),
        known,
        contexts,
        ({ method, target }, anyTable, given) => {
          const { decision } = decide(parseRequestInfo(method ?? 'GET', target), anyTable, given);
          assert.notEqual(decision, 'local');
        },
      ),
    );
    const details = new Map<string, string>();
    const trace = (rule: string, _matched: boolean, detail: string) => void details.set(rule, detail);
    decide(parseRequestInfo('GET', jobs), table, { ...context, trace });
    assert.match(details.get('4 Does the local server serve it?') ?? '', /no server is local/);
  });
});

describe('while the local server is down', () => {
  const down = { serverId: localId, localServerIsDown: true } as const;
  const others = 'peer-1,peer-2,peer-3';

  test('peers that serve the resource take its place', () => {
    assert.equal(decided('/api/v1/namespaces/default/pods', down), 'peer LocalServerDown peer-1,peer-2');
    assert.equal(decided('/api/v1/namespaces/default/pods/web/log', down), 'peer LocalServerDown peer-1');
  });

  test('any peer takes its place for custom resources, aggregated APIs and what nobody serves', () => {
    assert.equal(decided('/apis/example.com/v1/widgets', down), `peer LocalServerDown ${others}`);
    assert.equal(decided('/apis/metrics.k8s.io/v1beta1/nodes', down), `peer LocalServerDown ${others}`);
    assert.equal(decided('/apis/nosuch.example.com/v1/things', down), `peer LocalServerDown ${others}`);
  });

  test('any peer is asked whether the caller may read a merged document, which stays one', () => {
    assert.equal(decided('/apis', down), `peer MergedDocument ${others}`);
    assert.equal(decided('/openapi/v3/api/v1?hash=C1', down), 'peer MergedDocument peer-1');
  });

  test('an OpenAPI document under its hash goes to those that have the path, and to no other server', () => {
    assert.equal(decided('/openapi/v3/api/v1?hash=C0', down), 'peer MergedDocument peer-1');
    const openapiV3 = { 'apis/old/v1': '/openapi/v3/apis/old/v1?hash=A' };
    const known = buildRoutingTable(
      snapshotOf({ [localId]: { serves: ['old/v1/things'], openapiV3 }, peer: ['v1/pods'] }),
    );
    const own = decided('/openapi/v3/apis/old/v1?hash=A', down, known);
    assert.equal(own, 'local NotAResourceRequest');
  });

  test('paths about the cluster go to a peer; those about one server do not turn into another one’s', () => {
    for (const path of ['/version', '/.well-known/openid-configuration', '/openid/v1/jwks', '/api']) {
      assert.match(decided(path, down), /^peer /, path);
    }
    for (const path of ['/metrics', '/logs/kube-apiserver.log', '/debug/pprof/heap', '/versions', '/']) {
      assert.equal(decided(path, down), 'local NotAResourceRequest', path);
    }
  });

  test('what only it serves, and what may not travel on, is still its own', () => {
    assert.equal(decided('/apis/apps/v1/deployments', down), 'local ServedLocally');
    assert.equal(decided('/api/v1/pods', { ...down, reroutedByVerifiedPeer: true }), 'local AlreadyRerouted');
    assert.equal(decided('/version', { ...down, reroutedByVerifiedPeer: true }), 'local AlreadyRerouted');
    assert.equal(decided('/api/v1/pods', down, 'none'), 'local NoSnapshot');
  });

  test('what was a peer’s anyway stays as it was', () => {
    assert.equal(decided(jobs, down), 'peer ServedByPeer peer-1,peer-2');
  });

  test('the server itself is never among those that take its place', () => {
    fc.assert(
      fc.property(fc.constantFrom(...decisionRows), ({ method, target }) => {
        const decision = decide(parseRequestInfo(method ?? 'GET', target), table, { ...context, ...down });
        assert.equal(
          decision.candidates.some(({ id }) => id === localId),
          false,
        );
      }),
    );
  });
});

const serves = ['v1/pods'];
const mixed = buildRoutingTable(
  snapshotOf({
    'older-1': { serves, version: 'v1.35.1' },
    'older-2': { serves, version: 'v1.35.1' },
    'newest-1': { serves, version: 'v1.36.0' },
    'newest-2': { serves, version: 'v1.36.2' },
  }),
);

function decidedOnOpenApi(changes: Partial<DecisionContext>, { table = mixed, method = 'GET' } = {}) {
  const { decision, reason, candidates } = decide(parseRequestInfo(method, '/openapi/v2'), table, {
    reroutedByVerifiedPeer: false,
    ...changes,
  });
  return `${decision} ${reason} ${candidates.map(({ id }) => id).join()}`.trim();
}

describe('OpenAPI v2', () => {
  test('is the local server’s where that is of the newest version', () => {
    assert.equal(decidedOnOpenApi({ serverId: 'newest-2' }), 'local NotAResourceRequest');
  });

  test('comes from servers of the newest version, whichever version is preferred', () => {
    const fromNewest = 'peer MergedDocument newest-1,newest-2';
    for (const version of ['majority', 'oldest', 'local'] as const) {
      const preferredVersion = version;
      assert.equal(decidedOnOpenApi({ serverId: 'older-1', preferredVersion }), fromNewest, version);
      assert.equal(decidedOnOpenApi({ preferredVersion }), fromNewest, version);
    }
    assert.equal(decidedOnOpenApi({ serverId: 'older-1' }, { method: 'HEAD' }), fromNewest);
  });

  test('comes from another server of the newest version while the local one is down', () => {
    const down = { serverId: 'newest-1', localServerIsDown: true };
    assert.equal(decidedOnOpenApi(down), 'peer MergedDocument newest-2');
  });

  test('comes from an older server, the local one before others, where no newest one has an address', () => {
    const table = buildRoutingTable(
      snapshotOf({
        a: { serves, version: 'v1.35.1' },
        b: { serves, version: 'v1.35.1' },
        c: { serves, version: 'v1.36.0', withoutAddress: true },
      }),
    );
    assert.equal(decidedOnOpenApi({ serverId: 'b' }, { table }), 'peer MergedDocument b,a');
    assert.equal(decidedOnOpenApi({}, { table }), 'peer MergedDocument a,b');
  });

  test('is the local server’s own for a peer that has rerouted the request, and while no version is known', () => {
    const rerouted = { serverId: 'older-1', reroutedByVerifiedPeer: true };
    assert.equal(decidedOnOpenApi(rerouted), 'local AlreadyRerouted');
    const table = buildRoutingTable(snapshotOf({ a: serves, b: serves }));
    assert.equal(decidedOnOpenApi({ serverId: 'a' }, { table }), 'local NotAResourceRequest');
    assert.equal(decidedOnOpenApi({}, { table }), 'peer NotAResourceRequest a,b');
  });
});

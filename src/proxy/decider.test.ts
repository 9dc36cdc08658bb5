import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { probedHealth } from '../../test/support/routers/probed-health.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { decide } from '../routing/decide.ts';
import type { ServerBook } from '../servers/server-book.ts';
import { isAsTheSnapshotSays } from '../servers/server-word.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import { Decider } from './decider.ts';
import { resolveOptions } from './options.ts';
import { peerDestination } from './server-choice.ts';

const servers = {
  a: { serves: ['v1/pods', 'batch/v1/jobs'], version: 'v1.35.0' },
  b: { serves: ['v1/pods'], version: 'v1.35.0' },
  c: { serves: ['v1/pods', 'apps/v1/deployments'], version: 'v1.35.0' },
};
const customResourceGroups = [{ group: 'example.com', version: 'v1' }];
const snapshot = snapshotOf(servers, { customResourceGroups });
const base = buildRoutingTable(snapshot);

/** As a router in front of `serverId` decides, which knows what `health` does. */
function decided(target: string, serverId: string | undefined, table: RoutingTable | undefined): string {
  const { decision, reason, candidates } = decide(parseRequestInfo('GET', target), table, {
    serverId,
    reroutedByVerifiedPeer: false,
  });
  return [decision, reason, ...candidates.map(({ id }) => id)].join(' ');
}

const tableOf = (table: RoutingTable, health: ServerBook | undefined) =>
  health === undefined ? table : health.view(table).known;

const pods = '/api/v1/pods';
const jobs = '/apis/batch/v1/jobs';
const deployments = '/apis/apps/v1/deployments';
const unheardOf = '/apis/new.example.com/v1/things';
const custom = '/apis/example.com/v1/widgets';

describe('a server that was lost', () => {
  for (const outcome of ['not-ready', 'changed'] as const) {
    test(`is not known while it is ${outcome}: nothing is decided by what it served before`, () => {
      const { health, probe } = probedHealth('a', 'b', 'c');
      health.connectionLost('c');
      probe('c', outcome);
      const table = tableOf(base, health);
      assert.equal(decided(pods, 'c', table), 'peer LocalServerDown a b');
      assert.equal(
        decided(pods, undefined, table),
        'peer ServedLocally a b'.replace('ServedLocally', 'ServedByPeer'),
      );
      assert.equal(decided(jobs, 'c', table), 'peer ServedByPeer a');
      assert.equal(decided(jobs, 'b', table), 'peer ServedByPeer a');
      // Resources that c alone served, and resources that nobody is known to serve: c may serve either now.
      for (const target of [deployments, unheardOf]) {
        for (const serverId of ['a', 'c', undefined]) {
          assert.equal(decided(target, serverId, table), 'unavailable ServerNotKnown', target);
        }
      }
      assert.equal(decided(custom, 'c', table), 'peer LocalServerDown a b');
      assert.equal(decided(custom, 'a', table), 'local CustomResource');
      assert.equal(decided('/version', 'c', table), 'peer LocalServerDown a b');
      assert.equal(decided('/metrics', 'c', table), 'local NotAResourceRequest');
    });
  }

  test('is known again when it says what the snapshot says, or the snapshot what it says', () => {
    const { health, probe, lose } = probedHealth('a', 'b', 'c');
    lose('c');
    assert.notEqual(tableOf(base, health), base);
    probe('c', 'ready');
    assert.equal(tableOf(base, health), base);
    lose('c');
    probe('c', 'changed');
    health.apply('c', { kind: 'read' });
    assert.equal(tableOf(base, health), base);
  });

  test('serves nothing after a minute, and is used all the same where its /readyz fails without a lost connection', () => {
    const { health, lose, pass } = probedHealth('a', 'b', 'c');
    lose('c');
    pass(60_000);
    assert.equal(tableOf(base, health), base);
    lose('c');
    const table = tableOf(base, health);
    assert.equal(decided(unheardOf, 'a', table), 'local NotServedByAnyServer');
    assert.equal(decided(deployments, 'a', table), 'unavailable ServerNotKnown');
  });

  test('makes one table for as long as nothing else is learnt', () => {
    const { health, probe, lose } = probedHealth('a', 'b', 'c');
    lose('c');
    const table = tableOf(base, health);
    probe('a', 'ready');
    assert.equal(tableOf(base, health), table);
    lose('b');
    assert.notEqual(tableOf(base, health), table);
  });
});

test('a server that another process runs than the one that was read is not known, unless this router has verified it', () => {
  const changed = buildRoutingTable(snapshotOf({ ...servers, c: { ...servers.c, unread: true } }));
  assert.equal(decided(deployments, 'a', changed), 'unavailable ServerNotKnown');
  assert.equal(decided(unheardOf, 'a', changed), 'unavailable ServerNotKnown');
  assert.equal(decided(pods, 'c', changed), 'peer LocalServerDown a b');
  const nobody = probedHealth();
  assert.equal(decided(deployments, 'a', tableOf(changed, nobody.health)), 'unavailable ServerNotKnown');
  const verified = probedHealth('a', 'b', 'c');
  assert.equal(decided(deployments, 'a', tableOf(changed, verified.health)), 'peer ServedByPeer c');
});

test('with every server known, nothing is decided otherwise, and the table is the snapshot’s', () => {
  assert.equal(tableOf(base, probedHealth('a', 'b', 'c').health), base);
  assert.equal(tableOf(base, undefined), base);
});

test('what a server says is compared with what the snapshot says of it', () => {
  const said = { 'core.pods': ['v1'], 'batch.jobs': ['v1'] };
  const is = (storageVersions: Record<string, string[]> | undefined, version?: string, id = 'a') =>
    isAsTheSnapshotSays(id, { version, served: storageVersions && { storageVersions } }, base);
  assert.equal(is(said, 'v1.35.0'), true);
  assert.equal(is(undefined), true, 'what it does not say contradicts nothing');
  assert.equal(is(undefined, 'v1.35.1'), true, 'servers of one minor version are one');
  assert.equal(is(undefined, 'v1.36.0'), false);
  assert.equal(is({ 'core.pods': ['v1'] }), false);
  assert.equal(is({ ...said, 'batch.jobs': ['v1', 'v2'] }), false);
  assert.equal(is({ ...said, 'new.example.com.things': ['v1'] }), false);
  assert.equal(is({ ...said, 'example.com.widgets': ['v1'] }), true, 'custom resources are every server’s');
  assert.equal(is({}, 'v1.36.0', 'unheard-of'), true);
});

test('a server that was started with other flags shows it by the hashes of its OpenAPI documents', () => {
  const openapiV3 = {
    'apis/batch/v1': '/openapi/v3/apis/batch/v1?hash=A1',
    'apis/example.com/v1': '/openapi/v3/apis/example.com/v1?hash=B1',
  };
  const table = buildRoutingTable(snapshotOf({ a: { ...servers.a, openapiV3 } }, { customResourceGroups }));
  const is = (path: string, hash: string) =>
    isAsTheSnapshotSays(
      'a',
      { version: 'v1.35.0', served: undefined, openApi: { [path]: `/openapi/v3/${path}?hash=${hash}` } },
      table,
    );
  assert.equal(is('apis/batch/v1', 'A1'), true);
  assert.equal(is('apis/batch/v1', 'A2'), false);
  assert.equal(is('apis/example.com/v1', 'B2'), true, 'custom resources are every server’s');
  assert.equal(is('apis/apps/v1', 'C1'), true, 'what the snapshot does not say contradicts nothing');
});

test('a watch is misplaced from when on requests wait for another version, not when that counts', () => {
  const start = Date.UTC(2026, 0, 31);
  const serverOf = (minor: string) => ({
    serves: ['batch/v1/jobs'],
    version: `v${minor}.0`,
    schemas: { 'batch.jobs': { v1: btoa(`min-${minor}`.padEnd(8, '.')) } },
  });
  const at = new Date(start + 5_000).toISOString();
  const table = buildRoutingTable(
    snapshotOf(
      { a: serverOf('1.36'), b: serverOf('1.36'), c: serverOf('1.35') },
      { versionChanges: [{ server: 'b', from: '1.35', to: '1.36', at }] },
    ),
  );
  let now = start;
  const decider = new Decider(
    resolveOptions({
      local: undefined,
      routingTable: { current: () => table },
      transport: recordingTransport(),
      steadyClock: () => now,
    }),
  );
  const requestInfo = parseRequestInfo('GET', `${jobs}?watch=true`);
  const before = decide(requestInfo, table, { serverId: undefined, reroutedByVerifiedPeer: false, now });
  const isMisplaced = (id: string) => {
    const server = table.server(id);
    assert.ok(server);
    const destination = peerDestination(server);
    assert.ok(destination);
    return decider.isMisplaced(requestInfo, before, destination);
  };
  for (const [time, moves] of [
    [2_900, false],
    [3_000, true],
    [5_000, true],
  ] as const) {
    now = start + time;
    assert.equal(isMisplaced('c'), moves, `${time}`);
  }
  assert.equal(isMisplaced('a'), false);
});

test('a watch is misplaced before the next version counts, whether a server of that is ready again or not', () => {
  const { health, probe, pass } = probedHealth('a', 'b', 'c');
  const serverOf = (minor: string) => ({
    serves: ['batch/v1/jobs'],
    version: `v${minor}.0`,
    schemas: { 'batch.jobs': { v1: btoa(`min-${minor}`.padEnd(8, '.')) } },
  });
  const start = Date.UTC(2026, 0, 31);
  const at = new Date(start + 2_000).toISOString();
  const table = buildRoutingTable(
    snapshotOf(
      { a: serverOf('1.36'), b: serverOf('1.35'), c: serverOf('1.35') },
      { versionChanges: [{ server: 'a', from: '1.35', to: '1.36', at }] },
    ),
  );
  let now = start;
  const decider = new Decider(
    resolveOptions({
      local: undefined,
      routingTable: { current: () => table },
      preferredVersion: 'newest',
      transport: recordingTransport(),
      health,
      // Time passes from one look at the clock to the next.
      steadyClock: () => now++,
    }),
  );
  const requestInfo = parseRequestInfo('GET', `${jobs}?watch=true`);
  const before = decide(requestInfo, table, { serverId: undefined, reroutedByVerifiedPeer: false, now });
  const old = peerDestination(table.server('b') ?? assert.fail());
  health.connectionLost('a');
  probe('a', 'not-ready');
  const isMisplaced = () => decider.isMisplaced(requestInfo, before, old ?? assert.fail());
  assert.equal(isMisplaced(), true);
  health.look();
  pass(1_500);
  health.look();
  assert.equal(health.areToBeTried(), true);
  assert.equal(isMisplaced(), true, 'a router that stood still asks servers first');
  assert.equal(decider.isOfBefore(requestInfo, before), true);
  for (const id of ['a', 'b', 'c']) probe(id, 'ready');
  assert.equal(decider.isOfBefore(requestInfo, before), false);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { probedHealth } from '../../test/support/routers/probed-health.ts';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { decide } from '../routing/decide.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { Decider } from './decider.ts';
import { comesTooSoon, heldBackFor, isUnconfirmed, untoldWarning } from './hold-back.ts';
import { type RouterSettings, resolveOptions } from './options.ts';
import { peerDestination } from './server-choice.ts';

const servers = {
  a: { serves: ['v1/pods', 'batch/v1/jobs'], version: 'v1.35.0' },
  b: { serves: ['v1/pods'], version: 'v1.35.0' },
  c: { serves: ['v1/pods', 'apps/v1/deployments'], version: 'v1.35.0' },
};
const base = buildRoutingTable(snapshotOf(servers));
const pods = '/api/v1/pods';
const jobs = '/apis/batch/v1/jobs';

/** By the view of now. */
function isHeldBack(
  request: Pick<AdmittedRequest, 'requestInfo' | 'decision'>,
  settings: RouterSettings,
): boolean {
  return heldBackFor({ ...request, view: new Decider(settings).view() }, settings) > 0;
}

test('while a server is not read that others may know in its new version, what depends on the version waits', () => {
  const { health, probe, pass } = probedHealth('a', 'b', 'c');
  const serverOf = (minor: string) => ({
    serves: ['v1/pods', 'batch/v1/jobs'],
    version: `v${minor}.0`,
    schemas: {
      'core.pods': { v1: 'c2FtZS4uLi4=' },
      'batch.jobs': { v1: btoa(`min-${minor}`.padEnd(8, '.')) },
    },
  });
  const clusterOf = (a: string, b: string, c: string) =>
    buildRoutingTable(snapshotOf({ a: serverOf(a), b: serverOf(b), c: serverOf(c) }));
  let table = clusterOf('1.36', '1.35', '1.35');
  const settings = resolveOptions({
    local: undefined,
    routingTable: { current: () => table },
    transport: recordingTransport(),
    health,
  });
  const waits = () =>
    [jobs, pods].map((path) => {
      const requestInfo = parseRequestInfo('PUT', `${path}/x`);
      const decision = decide(requestInfo, table, { serverId: undefined, reroutedByVerifiedPeer: false });
      return isHeldBack({ requestInfo, decision }, settings);
    });
  health.connectionLost('b', true);
  probe('b', 'not-ready');
  pass(2_900);
  probe('b', 'changed');
  assert.deepEqual(waits(), [false, false], 'nobody lets it count so soon');
  pass(100);
  assert.deepEqual(waits(), [true, false]);
  table = clusterOf('1.35', '1.35', '1.35');
  assert.deepEqual(waits(), [false, false], 'most servers are of the same version, whatever it is');
  health.connectionLost('a', true);
  probe('a', 'not-ready');
  pass(3_000);
  probe('a', 'changed');
  assert.deepEqual(waits(), [true, true], 'of two that were upgraded no one alone is the majority');
  health.apply('a', { kind: 'read' });
  table = clusterOf('1.36', '1.35', '1.35');
  health.apply('b', { kind: 'read' });
  assert.deepEqual(waits(), [false, false]);
});

test('a router that has waited in vain to be told what a server has become goes on, and says so', () => {
  const { health, probe, pass } = probedHealth('a', 'b', 'c');
  const settings = resolveOptions({
    local: undefined,
    routingTable: { current: () => base },
    preferredVersion: 'newest',
    transport: recordingTransport(),
    health,
  });
  const requestInfo = parseRequestInfo('GET', `${pods}/x`);
  const decision = decide(requestInfo, base, { serverId: undefined, reroutedByVerifiedPeer: false });
  const warning = () =>
    untoldWarning({ requestInfo, decision, view: new Decider(settings).view() }, settings);
  assert.equal(warning(), undefined);
  health.connectionLost('b', true);
  probe('b', 'not-ready');
  probe('b', 'changed');
  pass(10_000);
  assert.deepEqual([isHeldBack({ requestInfo, decision }, settings), warning()], [true, undefined]);
  pass(10_000);
  assert.equal(isHeldBack({ requestInfo, decision }, settings), false);
  assert.match(
    warning() ?? '',
    /^299 - "the router has not been told what b has become: fields may be missing/,
  );
});

test('a router that has just been started waits for its first snapshot', () => {
  let isAwaited = true;
  const settings = resolveOptions({
    local: undefined,
    routingTable: { current: () => undefined, isAwaited: () => isAwaited },
    transport: recordingTransport(),
  });
  const waits = (target: string) => {
    const requestInfo = parseRequestInfo('GET', target);
    const decision = decide(requestInfo, undefined, { serverId: undefined, reroutedByVerifiedPeer: false });
    return isHeldBack({ requestInfo, decision }, settings);
  };
  assert.deepEqual([waits(pods), waits('/version')], [true, false]);
  isAwaited = false;
  assert.equal(waits(pods), false);
});

test('in a cluster of one version a write waits while a silent server may have tipped the balance, or is the one to get it', () => {
  const unconfirmedWith = (
    version: 'majority' | 'newest',
    silent: string[],
    mayDiffer = silent,
    local?: 'a',
  ) => {
    const settings = resolveOptions({
      local: local && {
        ...(peerDestination(base.server(local) ?? assert.fail()) ?? assert.fail()),
        kind: 'local',
      },
      preferredVersion: version,
      routingTable: {
        current: () => base,
        unconfirmed: () =>
          silent.length === 0 ? undefined : { silent: new Set(silent), mayDiffer: new Set(mayDiffer) },
      },
      transport: recordingTransport(),
    });
    return ['PUT', 'GET'].map((method) => {
      const requestInfo = parseRequestInfo(method, `${pods}/x`);
      const decision = decide(requestInfo, base, { serverId: local, reroutedByVerifiedPeer: false });
      return isUnconfirmed({ requestInfo, decision, view: new Decider(settings).view() }, settings);
    });
  };
  assert.deepEqual(unconfirmedWith('newest', []), [false, false]);
  assert.deepEqual(unconfirmedWith('newest', ['b']), [true, false], 'reads go on');
  assert.deepEqual(unconfirmedWith('newest', ['b'], []), [false, false], 'nobody reaches it');
  assert.deepEqual(unconfirmedWith('majority', ['b']), [false, false], 'one of three tips nothing');
  assert.deepEqual(unconfirmedWith('majority', ['b', 'c']), [true, false]);
  assert.deepEqual(unconfirmedWith('majority', ['b'], ['b'], 'a'), [false, false]);
  assert.deepEqual(
    unconfirmedWith('majority', ['a'], [], 'a'),
    [true, false],
    'it may be another process by now',
  );
});

test('a write goes to no server that has been silent itself, and a read waits where this router was cut off', () => {
  const mixed = buildRoutingTable(snapshotOf({ ...servers, c: { serves: ['v1/pods'], version: 'v1.36.0' } }));
  const unconfirmedFor = (method: string, asked: string, untold?: 'isolated' | 'not told yet', age = 0) => {
    const settings = resolveOptions({
      local: undefined,
      routingTable: {
        current: () => mixed,
        confirmedAt: () => performance.now() - age,
        unconfirmed: () => ({ silent: new Set(['b']), mayDiffer: new Set() }),
        untold: () => untold,
      },
      transport: recordingTransport(),
    });
    const requestInfo = parseRequestInfo(method, '/api/v1/namespaces/default/pods/x');
    const decision = decide(requestInfo, mixed, { serverId: undefined, reroutedByVerifiedPeer: false });
    const request = { requestInfo, decision, view: new Decider(settings).view() };
    return [isUnconfirmed(request, settings, asked), isUnconfirmed(request, settings, asked, true)];
  };
  assert.deepEqual(unconfirmedFor('PUT', 'a'), [false, false]);
  assert.deepEqual(unconfirmedFor('PUT', 'b'), [true, true], 'it may be another process by now');
  assert.deepEqual(unconfirmedFor('GET', 'b'), [false, false]);
  assert.deepEqual(unconfirmedFor('GET', 'a', 'not told yet', 7_000), [true, true]);
  assert.deepEqual(
    unconfirmedFor('GET', 'a', 'isolated', 7_000),
    [false, true],
    'once it is connected again',
  );
});

test('nothing is decided by what is stored of a cluster before each of its servers was tried', () => {
  const { health, probe } = probedHealth();
  const routingTable = { current: () => base };
  const settings = resolveOptions({
    local: undefined,
    routingTable,
    transport: recordingTransport(),
    health,
  });
  const requestInfo = parseRequestInfo('GET', pods);
  const decision = decide(requestInfo, base, { serverId: undefined, reroutedByVerifiedPeer: false });
  const waits = () => isHeldBack({ requestInfo, decision }, settings);
  for (const id of ['a', 'b', 'c']) health.follow(id, true);
  probe('a', 'ready');
  probe('b', 'ready');
  assert.equal(waits(), true);
  probe('c', 'not-ready');
  assert.equal(waits(), false);
});

test('a server that does not count yet gets no write while one that counts may still serve, or others may not know what it is', () => {
  const { health, probe, pass } = probedHealth('a', 'b', 'c');
  const all = { serves: ['v1/pods'], version: 'v1.36.0' };
  const change = { server: 'b', from: '1.35', to: '1.36', waitFrom: 8_000, until: 10_000 };
  const table = buildRoutingTable(snapshotOf({ a: all, b: all, c: all }), undefined, [change]);
  let now = 0;
  const settings = { health, steadyClock: () => now };
  const goesTo = (id: string, method = 'PUT') => {
    const requestInfo = parseRequestInfo(method, `${pods}/x`);
    const decision = decide(requestInfo, table, { now, serverId: undefined, reroutedByVerifiedPeer: false });
    assert.ok(decision.decision === 'peer');
    assert.deepEqual(
      decision.candidates.map((each) => each.id),
      ['a', 'c'],
      'those that count go first',
    );
    const view = { snapshot: table, known: table, local: undefined };
    const request = { inbound: { method }, requestInfo, decision, view } as unknown as AdmittedRequest;
    return !comesTooSoon(request, settings, decision, { otherVersion: undefined, server: table.server(id) });
  };
  assert.deepEqual([goesTo('a'), goesTo('b'), goesTo('b', 'GET')], [true, false, true]);
  for (const id of ['a', 'c']) {
    health.connectionLost(id, true);
    probe(id, 'not-ready');
  }
  pass(20_000);
  assert.equal(goesTo('b'), false, 'others may not know it yet');
  now = 8_000;
  assert.equal(goesTo('b'), true);
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { type HealthChange, ServerBook } from './server-book.ts';
import { isVerified } from './server-standing.ts';

function followed(...ids: string[]) {
  let now = 1_000;
  const health = new ServerBook({ rise: 2, fall: 3, monotonic: () => now });
  for (const id of ids) health.follow(id);
  const changes: HealthChange[] = [];
  const doubts: string[] = [];
  health.observe({ changed: (change) => changes.push(change), doubted: (id) => doubts.push(id) });
  return {
    health,
    changes,
    doubts,
    probes(id: string, ...outcomes: ('ready' | 'unreachable' | 'not-ready')[]) {
      for (const outcome of outcomes) health.probed(id, outcome);
    },
    pass(milliseconds: number) {
      now += milliseconds;
    },
  };
}

test('observers are told of each change once, never of what changes nothing', () => {
  const { health, changes, probes } = followed('a');
  probes('a', 'ready', 'ready', 'unreachable', 'unreachable', 'unreachable', 'unreachable', 'unreachable');
  assert.equal(health.isDown('a'), true);
  probes('a', 'ready', 'ready', 'ready');
  assert.deepEqual(changes, [
    { id: 'a', status: 'ready', reason: undefined, isDown: false, wasDown: false },
    { id: 'a', status: 'unreachable', reason: undefined, isDown: true, wasDown: false },
    { id: 'a', status: 'ready', reason: undefined, isDown: false, wasDown: true },
  ]);
});

test('a request without a connection, or without a response, asks for a probe each time', () => {
  const { health, doubts, probes } = followed('a', 'b');
  probes('a', 'ready');
  probes('b', 'ready');
  for (let request = 0; request < 3; request++) {
    health.connectionLost('a');
    health.notResponded('b');
  }
  assert.equal(health.isDown('b'), false);
  assert.deepEqual(doubts, ['a', 'b', 'a', 'b', 'a', 'b']);
});

test('an answer to a question of before the last loss changes nothing of what is missing', () => {
  const { health, pass } = followed('a');
  health.probing('a');
  health.probed('a', 'unreachable');
  health.connectionLost('a');
  health.probing('a');
  health.probed('a', 'unreachable');
  health.probing('a');
  pass(1);
  health.connectionLost('a');
  assert.deepEqual([...health.notKnown()], [['a', 'unreachable']]);
  // A probe that began before the connection was lost once more says nothing of the process that comes.
  health.probed('a', 'changed');
  assert.deepEqual([...health.notKnown()], [['a', health.whyNot('a')]]);
  assert.equal(health.whyNot('a'), 'unreachable');
});

test('after GOAWAY, requests wait for a probe: another process may be behind the next connection', async () => {
  const { health, doubts } = followed('a');
  health.goneAway('a');
  assert.equal(health.settled('a'), undefined, 'who is never probed would be waited for for ever');
  health.probing('a');
  health.probed('a', 'ready');
  assert.equal(health.is('a', isVerified), true);
  health.goneAway('a');
  assert.deepEqual([health.is('a', isVerified), doubts], [false, ['a']]);
  let isOver = false;
  const waiting = health.settled('a')?.then(() => {
    isOver = true;
  });
  assert.ok(waiting);
  health.probing('a');
  await Promise.resolve();
  assert.equal(isOver, false);
  health.probed('a', 'ready');
  await waiting;
  assert.deepEqual([health.mayBeAsked('a'), health.is('a', isVerified)], ['first', true]);
});

test('a server that was silent is asked what it is once it is heard again', () => {
  const { health, probes } = followed('a');
  probes('a', 'ready', 'unreachable');
  assert.deepEqual([health.is('a', isVerified), health.mayBeAsked('a')], [false, 'first']);
});

test('a lost server is put aside until a probe clears it, and who waits for that goes on behind the probe', async () => {
  const { health } = followed('a');
  const put: string[] = [];
  health.observe({ lost: (id) => put.push(id) });
  health.connectionLost('a');
  assert.equal(health.mayBeAsked('a'), 'first', 'who is never probed could never come back');
  health.probing('a');
  health.probed('a', 'ready');
  health.connectionLost('a');
  health.connectionLost('a');
  assert.deepEqual([health.mayBeAsked('a'), health.whyNot('a'), put], ['last', undefined, ['a']]);
  const waiting = health.settled('a');
  assert.ok(waiting);
  health.probing('a');
  health.probed('a', 'not-ready');
  await waiting;
  assert.deepEqual([health.mayBeAsked('a'), health.whyNot('a')], ['not', 'restarting']);
  assert.deepEqual([...health.notKnown()], [['a', 'restarting']]);
  assert.equal(health.notKnown(), health.notKnown());
  assert.equal(health.settled('a'), undefined);
  health.probing('a');
  health.probed('a', 'ready');
  assert.deepEqual([health.mayBeAsked('a'), health.whyNot('a')], ['first', undefined]);
});

test('what is not known ends by itself where nobody learns more', () => {
  const { health, pass } = followed('a');
  health.probing('a');
  health.apply('a', { kind: 'lease changed' });
  assert.deepEqual([...health.notKnown()], [['a', 'unverified']]);
  pass(59_999);
  assert.equal(health.notKnown().size, 1);
  pass(1);
  assert.equal(health.notKnown().size, 0);
});

test('nobody waits for a probe of a server that has left', async () => {
  const { health } = followed('a');
  health.probing('a');
  health.connectionLost('a');
  const waiting = health.settled('a');
  assert.ok(waiting);
  health.unfollow('a');
  await waiting;
});

test('a server that is not followed has no health, and nothing that is met of it is kept', () => {
  const { health, doubts, changes, probes } = followed('a');
  health.unfollow('a');
  probes('a', 'unreachable', 'unreachable', 'unreachable');
  health.connectionLost('metrics-server.kube-system');
  health.notResponded('metrics-server.kube-system');
  assert.deepEqual([health.reports(), doubts, changes], [[], [], []]);
  assert.equal(health.isDown('a'), false);
});

test('a report says since when, and whether a probe has ended', () => {
  const { health, probes, pass } = followed('a');
  assert.equal(health.report('a')?.isHeard, false);
  probes('a', 'unreachable', 'ready');
  pass(2_000);
  probes('a', 'ready');
  pass(500);
  assert.deepEqual(health.report('a'), {
    id: 'a',
    status: 'ready',
    reason: undefined,
    isUp: true,
    isDown: false,
    forMilliseconds: 2_500,
    isHeard: true,
  });
  assert.equal(health.report('b'), undefined);
});

test('a server that is followed anew is unknown again', () => {
  const { health, probes } = followed('a');
  probes('a', 'unreachable', 'unreachable', 'unreachable');
  health.follow('a');
  assert.equal(health.report('a')?.status, 'untried');
  assert.equal(health.report('a')?.isHeard, false);
});

test('what is stored of a server holds once a probe has verified it, and a server that cannot be reached has been tried', () => {
  let now = 0;
  const health = new ServerBook({ rise: 1, fall: 3, monotonic: () => now });
  const reasonOf = (id: string) => health.report(id)?.reason;
  for (const id of ['same', 'upgraded', 'gone']) {
    health.follow(id, true);
    health.probing(id);
    assert.equal(reasonOf(id), 'KnowledgeOutdated');
    assert.notEqual(health.settled(id), undefined, 'nothing goes there before');
  }
  assert.equal(health.areToBeTried(), true);
  now = 10;
  health.probed('same', 'ready');
  assert.equal(health.mayBeAsked('same'), 'first');
  health.probed('upgraded', 'changed');
  assert.equal(reasonOf('upgraded'), 'SnapshotOutdated');
  assert.equal(health.mayBeAsked('upgraded'), 'not');
  health.connectionLost('gone', true);
  health.probed('gone', 'unreachable');
  assert.deepEqual([reasonOf('same'), reasonOf('gone')], [undefined, undefined]);
  assert.equal(health.mayBeAsked('gone'), 'not', 'it may come up as another version');
  assert.equal(health.areToBeTried(), false);
  health.apply('upgraded', { kind: 'read' });
  assert.equal(reasonOf('upgraded'), undefined);
  health.follow('unread', true);
  health.probing('unread');
  health.probed('unread', 'changed');
  now += 60_000;
  assert.equal(reasonOf('unread'), 'NotVerified', 'the sync job may be down');
});

test('a process that stood still knows nothing before it has asked again, by either clock', () => {
  let now = 0;
  let date = Date.UTC(2026, 0, 31);
  const health = new ServerBook({ rise: 1, fall: 3, monotonic: () => now, wall: () => date });
  const doubted: string[] = [];
  const stood: number[] = [];
  health.observe({ doubted: (id) => doubted.push(id), stoodStill: (each) => stood.push(each) });
  health.follow('a');
  health.probing('a');
  health.probed('a', 'ready');
  const pass = (monotonic: number, wall = monotonic) => {
    now += monotonic;
    date += wall;
    health.look();
  };
  pass(60_000);
  assert.deepEqual(stood, [], 'nobody has looked before');
  for (let time = 0; time < 20; time++) pass(900);
  pass(0, -3_600_000);
  assert.deepEqual([stood, health.areToBeTried()], [[], false], 'a clock that is set back is no time');
  health.probing('a');
  for (const [monotonic, wall] of [
    [1_000, 1_000],
    [10, 30_000],
  ] as const) {
    pass(monotonic, wall);
    assert.equal(health.areToBeTried(), true);
    health.probed('a', 'ready');
    assert.equal(health.areToBeTried(), true, 'it was asked before');
    health.probing('a');
    health.probed('a', 'ready');
    assert.deepEqual([health.areToBeTried(), health.mayBeAsked('a')], [false, 'first']);
    now += 1;
    health.probing('a');
  }
  assert.deepEqual(
    [stood, doubted],
    [
      [1_000, 30_000],
      ['a', 'a'],
    ],
  );
});

test('who waits for a server is woken by what ends the waiting, and by the end of who asked', async () => {
  const { health } = followed('a', 'b');
  for (const id of ['a', 'b']) {
    health.probing(id);
    health.probed(id, 'ready');
    health.connectionLost(id);
  }
  const client = new AbortController();
  const left = health.settled('a', client);
  const all = health.allSettled();
  let isOver = false;
  void all?.then(() => {
    isOver = true;
  });
  client.abort();
  await left;
  assert.equal(health.areAwaited(), true);
  health.probing('a');
  health.probed('a', 'ready');
  await Promise.resolve();
  assert.equal(isOver, false);
  health.probing('b');
  health.probed('b', 'not-ready');
  await all;
  assert.deepEqual([health.areAwaited(), health.allSettled()], [false, undefined]);
  await health.until(() => false, client);
});

test('a view stays the same object until something has changed that a decision depends on', () => {
  const { health } = followed('a', 'b');
  const table = buildRoutingTable(snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] }));
  for (const id of ['a', 'b']) {
    health.probing(id);
    health.probed(id, 'ready');
  }
  const view = health.view(table);
  assert.equal(view.known, table);
  health.notResponded('a');
  health.probed('b', 'ready');
  assert.equal(health.view(table), view, 'a suspect server is asked as before');
  health.connectionLost('a');
  health.probing('a');
  health.probed('a', 'not-ready');
  const lost = health.view(table);
  assert.deepEqual([lost.snapshot, lost.known?.server('a')?.missing], [table, 'restarting']);
  assert.equal(health.view(table), lost);
  health.probing('a');
  health.probed('a', 'ready');
  assert.equal(health.view(table).known, table);
});

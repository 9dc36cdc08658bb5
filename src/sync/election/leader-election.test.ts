import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type ManualClock, manualClock, settle } from '../../../test/support/manual-clock.ts';
import {
  createLeaderElector,
  type LeaderElector,
  type LeaseClient,
  type LeaseRecord,
  type StoredLease,
} from './leader-election.ts';

/** One Lease as an API server keeps it: whoever replaces an old version of it is told of a conflict. */
function leaseServer() {
  let current: { readonly record: LeaseRecord; readonly version: number } | undefined;
  let down = false;
  const stored = (): StoredLease | undefined =>
    current && { record: current.record, object: current.version };
  const write = (record: LeaseRecord, version: number): StoredLease => {
    current = { record, version };
    return { record, object: version };
  };
  const check = () => {
    if (down) throw new Error('connection refused');
  };
  const client: LeaseClient = {
    async get() {
      check();
      return stored();
    },
    async create(record) {
      check();
      if (current !== undefined) throw new Error('409 AlreadyExists');
      return write(record, 1);
    },
    async replace({ object }, record) {
      check();
      if (current?.version !== object) throw new Error('409 Conflict');
      return write(record, (current?.version ?? 0) + 1);
    },
  };
  return {
    client,
    record: () => current?.record,
    setDown(isDown: boolean) {
      down = isDown;
    },
  };
}

interface Candidate {
  readonly elector: LeaderElector;
  readonly changes: boolean[];
  /** Ends it as a shutdown does: the Lease is released. */
  stop(): Promise<void>;
}

function candidate(identity: string, lease: LeaseClient, clock: ManualClock): Candidate {
  const elector = createLeaderElector({ identity, lease, clock });
  const changes: boolean[] = [];
  elector.onChange((isLeader) => changes.push(isLeader));
  const controller = new AbortController();
  const running = elector.run(controller.signal);
  return {
    elector,
    changes,
    async stop() {
      controller.abort();
      await running;
    },
  };
}

test('the first of two leads as long as it renews', async () => {
  const server = leaseServer();
  const clock = manualClock();
  const a = candidate('a', server.client, clock);
  await settle();
  const b = candidate('b', server.client, clock);
  await clock.advance(120_000);
  assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [true, false]);
  assert.equal(b.elector.holder(), 'a');
  assert.deepEqual([a.changes, b.changes], [[true], []]);
  assert.equal(server.record()?.leaseTransitions, 0);
  await Promise.all([a.stop(), b.stop()]);
});

test('a leader that vanishes is followed after the lease duration, and counted as a transition', async () => {
  const server = leaseServer();
  const clock = manualClock();
  // Killed: it renews no more and gives nothing back.
  await server.client.create(
    {
      holderIdentity: 'killed',
      leaseDurationSeconds: 15,
      acquireTime: '2026-01-01T00:00:00.000000Z',
      renewTime: '2026-01-01T00:00:00.000000Z',
      leaseTransitions: 3,
    },
    new AbortController().signal,
  );
  const b = candidate('b', server.client, clock);
  await clock.advance(14_000);
  assert.equal(b.elector.isLeader(), false);
  await clock.advance(4_000);
  assert.equal(b.elector.isLeader(), true);
  assert.equal(server.record()?.holderIdentity, 'b');
  assert.equal(server.record()?.leaseTransitions, 4);
  await b.stop();
});

test('times that another clock wrote into the Lease decide nothing', async () => {
  const server = leaseServer();
  const clockOfA = manualClock(Date.UTC(2020, 0, 1));
  const clockOfB = manualClock(Date.UTC(2030, 0, 1));
  const a = candidate('a', server.client, clockOfA);
  await settle();
  const b = candidate('b', server.client, clockOfB);
  for (let second = 0; second < 60; second += 2) {
    await clockOfA.advance(2_000);
    await clockOfB.advance(2_000);
  }
  assert.deepEqual([a.elector.isLeader(), b.elector.isLeader()], [true, false]);
  await Promise.all([a.stop(), b.stop()]);
});

test('a clock that is set back does not change the leader', async () => {
  const server = leaseServer();
  const clock = manualClock();
  const a = candidate('a', server.client, clock);
  await settle();
  const b = candidate('b', server.client, clock);
  await clock.advance(4_000);
  clock.setBack(3_600_000);
  await clock.advance(60_000);
  assert.deepEqual([a.changes, b.changes], [[true], []]);
  await Promise.all([a.stop(), b.stop()]);
});

test('a leader that cannot renew stops before another may begin', async () => {
  const server = leaseServer();
  const clock = manualClock();
  const a = candidate('a', server.client, clock);
  await clock.advance(4_000);
  server.setDown(true);
  await clock.advance(9_000);
  assert.equal(a.elector.isLeader(), true);
  await clock.advance(3_000);
  assert.equal(a.elector.isLeader(), false);
  assert.deepEqual(a.changes, [true, false]);
  server.setDown(false);
  await clock.advance(3_000);
  assert.deepEqual(a.changes, [true, false, true]);
  await a.stop();
});

test('a process that was suspended does not believe that it still leads', async () => {
  const clock = manualClock();
  let stopped = 0;
  const asked = { ...clock, monotonic: () => clock.monotonic() + stopped };
  const elector = createLeaderElector({ identity: 'a', lease: leaseServer().client, clock: asked });
  const ending = new AbortController();
  const running = elector.run(ending.signal);
  await settle();
  assert.equal(elector.isLeader(), true);
  // SIGSTOP and SIGCONT: no timer has run, but time has passed.
  stopped = 20_000;
  assert.equal(elector.isLeader(), false);
  ending.abort();
  await running;
});

test('who ends gives the Lease back, and the next leads within a retry period', async () => {
  const server = leaseServer();
  const clock = manualClock();
  const a = candidate('a', server.client, clock);
  await settle();
  const b = candidate('b', server.client, clock);
  await clock.advance(4_000);
  await a.stop();
  assert.equal(server.record()?.holderIdentity, '');
  assert.deepEqual(a.changes, [true, false]);
  await clock.advance(2_400);
  assert.equal(b.elector.isLeader(), true);
  await b.stop();
});

test('two that try at the same moment do not both lead', async () => {
  const server = leaseServer();
  const clock = manualClock();
  const candidates = ['a', 'b', 'c'].map((identity) => candidate(identity, server.client, clock));
  await clock.advance(10_000);
  assert.equal(candidates.filter(({ elector }) => elector.isLeader()).length, 1);
  await Promise.all(candidates.map(({ stop }) => stop()));
});

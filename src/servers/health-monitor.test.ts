import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { manualClock, settle } from '../../test/support/manual-clock.ts';
import type { Destination } from '../request/destination.ts';
import { confirmedWithin } from '../snapshot/routing-table/version-instants.ts';
import { HealthMonitor } from './health-monitor.ts';
import { ServerBook } from './server-book.ts';
import type { ProbeOutcome } from './server-states.ts';

const interval = 5_000;
/** A server that is in doubt is probed five times as often. */
const hasty = 1_000;

const server = (id: string, origin = `https://${id}.example:6443`): Destination => ({
  kind: 'peer',
  id,
  origin,
  serverName: 'kubernetes.default.svc',
  trust: { kind: 'peer-ca' },
});

function monitored(
  context: TestContext,
  random?: () => number,
  more: Partial<ConstructorParameters<typeof HealthMonitor>[0]> = {},
) {
  const clock = manualClock(0, random);
  const health = new ServerBook({ rise: 2, fall: 3, monotonic: clock.monotonic });
  const outcomes = new Map<string, ProbeOutcome>();
  const probed: { readonly id: string; readonly origin: string; readonly at: number }[] = [];
  const monitor = new HealthMonitor({
    health,
    interval,
    clock,
    probe: ({ id, origin }) => {
      probed.push({ id, origin, at: clock.monotonic() });
      return Promise.resolve(outcomes.get(id) ?? 'ready');
    },
    ...more,
  });
  context.after(() => monitor.stop());
  return { clock, health, monitor, outcomes, probed, times: () => probed.map(({ at }) => at) };
}

test('servers are probed at once, soon again while little is known, then at the interval', async (context) => {
  const { clock, monitor, times } = monitored(context);
  monitor.follow([server('a')]);
  await clock.advance(hasty + 2 * interval);
  assert.deepEqual(times(), [0, hasty, hasty + interval, hasty + 2 * interval]);
});

test('while servers differ, each is asked again before its last word is too old to write by, whatever the interval', async (context) => {
  const { clock, monitor, times } = monitored(context, undefined, {
    interval: 3_600_000,
    isUrgent: () => true,
  });
  monitor.follow([server('a')]);
  await clock.advance(3 * confirmedWithin);
  const pauses = times().map((at, index) => at - (times()[index - 1] ?? 0));
  assert.ok(times().length > 6 && Math.max(...pauses) < confirmedWithin / 2, pauses.join());
});

test('a failing server is probed five times as often, until it is back', async (context) => {
  const { clock, health, monitor, outcomes, times } = monitored(context);
  outcomes.set('a', 'unreachable');
  monitor.follow([server('a')]);
  await clock.advance(3 * hasty);
  assert.equal(health.isDown('a'), true);
  assert.deepEqual(times(), [0, hasty, 2 * hasty, 3 * hasty]);
  outcomes.set('a', 'ready');
  await clock.advance(2 * hasty);
  assert.equal(health.isUp('a'), true);
  await clock.advance(interval - 1);
  assert.equal(times().length, 6);
});

test('pauses differ by a tenth either way, so that routers do not ask all at once', async (context) => {
  for (const [random, pause] of [
    [0, 0.9],
    [0.999_999, 1.1],
  ] as const) {
    const { clock, monitor } = monitored(context, () => random);
    monitor.follow([server('a')]);
    await settle();
    assert.equal(Math.round(clock.sleeping[0] ?? 0), Math.round(hasty * pause));
  }
});

test('a doubt brings the next probe forward, a thousand of them no faster than that', async (context) => {
  const { clock, health, monitor, times } = monitored(context);
  monitor.follow([server('a')]);
  await clock.advance(hasty + interval / 2);
  assert.equal(times().length, 2);
  for (let request = 0; request < 1_000; request++) health.notResponded('a');
  await settle();
  assert.equal(times().length, 3, 'the last probe is long enough ago');
  for (let request = 0; request < 1_000; request++) health.notResponded('a');
  await clock.advance(hasty - 1);
  assert.equal(times().length, 3);
  await clock.advance(1);
  assert.equal(times().length, 4);
});

test('doubts that come all the time, in bursts and one by one, bring no probe sooner than the least distance', async (context) => {
  const { clock, health, monitor, times } = monitored(context);
  monitor.follow([server('a')]);
  await clock.advance(hasty + interval);
  const before = times().length;
  for (let passed = 0; passed < 10 * hasty; passed += 10) {
    for (let request = 0; request < 1 + (passed % 70); request++) health.notResponded('a');
    await clock.advance(10);
  }
  const probes = times().slice(before - 1);
  for (const [index, at] of probes.entries()) {
    const last = probes[index - 1];
    if (last !== undefined) assert.ok(at - last >= hasty, `${at} after ${last}`);
  }
  assert.equal(times().length - before, 10);
});

test('a server whose connection was lost is looked at sooner and more often, until it is ready', async (context) => {
  const { clock, health, monitor, outcomes, times } = monitored(context);
  const quick = 100;
  monitor.follow([server('a')]);
  await clock.advance(hasty + interval / 2);
  outcomes.set('a', 'not-ready');
  health.connectionLost('a');
  await settle();
  const begun = hasty + interval / 2;
  await clock.advance(2 * quick);
  assert.deepEqual(times().slice(2), [begun, begun + quick, begun + 2 * quick]);
  assert.equal(health.whyNot('a'), 'restarting');
  // Nobody waits for one that has been away for long: as often as any unhealthy server then.
  await clock.advance(60_000);
  const before = times().length;
  await clock.advance(10 * hasty);
  assert.equal(times().length - before, 10);
  outcomes.set('a', 'ready');
  await clock.advance(hasty);
  assert.equal(health.whyNot('a'), undefined);
});

test('a server that has said what it is, and is still to be read, is not asked all of it ten times a second', async (context) => {
  const { clock, health, monitor, outcomes, times } = monitored(context);
  monitor.follow([server('a')]);
  await clock.advance(hasty);
  outcomes.set('a', 'changed');
  health.connectionLost('a');
  health.apply('a', { kind: 'said', word: { version: 'v1.36.0', served: undefined } });
  await clock.advance(100);
  assert.equal(health.whyNot('a'), 'unverified');
  const before = times().length;
  await clock.advance(3 * hasty);
  assert.equal(times().length - before, 3);
  // Another process may be ready any moment.
  outcomes.set('a', 'not-ready');
  await clock.advance(hasty);
  const quick = times().length;
  await clock.advance(hasty);
  assert.equal(times().length - quick, 10);
});

test('a server that has left the snapshot loses its probes and its state', async (context) => {
  const { clock, health, monitor, probed } = monitored(context);
  monitor.follow([server('a'), server('b')]);
  await clock.advance(hasty);
  monitor.follow([server('a')]);
  const before = probed.filter(({ id }) => id === 'b').length;
  await clock.advance(10 * interval);
  assert.equal(probed.filter(({ id }) => id === 'b').length, before);
  assert.deepEqual(
    health.reports().map(({ id }) => id),
    ['a'],
  );
});

test('an unchanged server keeps its state in a new snapshot; one at another address is another', async (context) => {
  const { clock, health, monitor, outcomes, probed } = monitored(context);
  outcomes.set('a', 'unreachable').set('b', 'unreachable');
  monitor.follow([server('a'), server('b')]);
  await clock.advance(2 * hasty);
  monitor.follow([server('a'), server('b', 'https://elsewhere.example:6443')]);
  assert.deepEqual(
    health.reports().map(({ id, status }) => `${id} ${status}`),
    ['a unreachable', 'b untried'],
  );
  await settle();
  assert.equal(probed.at(-1)?.origin, 'https://elsewhere.example:6443');
});

test('a response that comes after its server was replaced says nothing of the new one', async (context) => {
  const clock = manualClock();
  const health = new ServerBook({ rise: 2, fall: 1, monotonic: clock.monotonic });
  const first = Promise.withResolvers<ProbeOutcome>();
  const answers = [first.promise];
  const probe = () => answers.shift() ?? new Promise<ProbeOutcome>(() => {});
  const monitor = new HealthMonitor({ health, interval, clock, probe });
  context.after(() => monitor.stop());
  monitor.follow([server('a')]);
  monitor.follow([server('a', 'https://elsewhere.example:6443')]);
  first.resolve('unreachable');
  await settle();
  assert.equal(health.report('a')?.status, 'untried');
});

test('setting the wall clock neither stops the probes nor makes them come in a burst', async (context) => {
  const { clock, monitor, times } = monitored(context);
  monitor.follow([server('a')]);
  await clock.advance(hasty);
  clock.setBack(3_600_000);
  await clock.advance(interval);
  clock.setBack(-7_200_000);
  await clock.advance(interval);
  assert.deepEqual(times(), [0, hasty, hasty + interval, hasty + 2 * interval]);
});

test('nothing is probed after the end', async (context) => {
  const { clock, monitor, times } = monitored(context);
  monitor.follow([server('a')]);
  await settle();
  monitor.stop();
  await clock.advance(10 * interval);
  assert.equal(times().length, 1);
});

test('a doubt that comes while the server is being asked is not answered by that: it is asked again soon', async (context) => {
  const clock = manualClock();
  const health = new ServerBook({ rise: 2, fall: 3, monotonic: clock.monotonic });
  const asked: { readonly at: number; answer(): void }[] = [];
  const monitor = new HealthMonitor({
    health,
    interval,
    clock,
    probe: () =>
      new Promise((resolve) => asked.push({ at: clock.monotonic(), answer: () => resolve('ready') })),
  });
  context.after(() => monitor.stop());
  monitor.follow([server('a')]);
  asked[0]?.answer();
  await clock.advance(hasty);
  asked[1]?.answer();
  await clock.advance(interval);
  await clock.advance(10);
  health.notResponded('a');
  asked[2]?.answer();
  await clock.advance(hasty);
  assert.deepEqual(
    asked.map(({ at }) => at),
    [0, hasty, hasty + interval, 2 * hasty + interval],
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { recordingTransport } from '../../test/support/routers/recording-transport.ts';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { Decider } from '../proxy/decider.ts';
import { heldBackFor, isUnconfirmed } from '../proxy/hold-back.ts';
import { resolveOptions } from '../proxy/options.ts';
import { localDecision } from '../routing/decision.ts';
import { preferredMinor } from '../routing/preferred-version.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { VersionInstants, versionSettlesFor } from '../snapshot/routing-table/version-instants.ts';
import { versionChanges } from './version-changes.ts';

const epoch = Date.UTC(2026, 0, 31);
const serves = ['v1/pods', 'autoscaling/v2/horizontalpodautoscalers'];
const write = {
  requestInfo: parseRequestInfo(
    'PUT',
    '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web',
  ),
  decision: localDecision('ServedLocally'),
};
/** Milliseconds between two looks at the routers. */
const step = 200;

/** How one process asks server `b`: one question after the other. Milliseconds. */
const asking = fc.record({
  /** Between the answer to a question and the next one, and where in that the first begins. */
  pause: fc.integer({ min: 100, max: 8_000 }),
  phase: fc.integer({ min: 0, max: 8_000 }),
  /** From a question to its answer; the server looks somewhere in between. */
  delay: fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 0, max: 60_000 })),
  looksAt: fc.double({ min: 0, max: 1, noNaN: true }),
});

/** The clocks of one machine. */
const clocks = fc.record({
  /** Milliseconds by which the wall clock is off. */
  skew: fc.integer({ min: -3_600_000, max: 3_600_000 }),
  /** Millionths by which the clock that only rises is fast. */
  drift: fc.integer({ min: -200, max: 200 }),
});

const reader = fc.record({
  clocks,
  questions: asking,
  /** From the answer to a snapshot of it. */
  read: fc.integer({ min: 0, max: 10_000 }),
  /** True if it was started while `b` was away, or after: it has seen nothing of its start. */
  wasStarted: fc.boolean(),
});

const router = fc.record({
  clocks,
  probes: asking,
  /** Milliseconds until the sync job's snapshot has come, where it is pushed; `null`: the router reads itself. */
  pushed: fc.option(fc.integer({ min: 0, max: 60_000 })),
  reader,
});

const cluster = fc.record({
  from: fc.constantFrom('1.35', '1.36'),
  job: reader,
  routers: fc.array(router, { minLength: 2, maxLength: 4 }),
});

type ValueOf<A> = A extends fc.Arbitrary<infer Value> ? Value : never;

/** `b` became ready in another version at 0, which is no process's clock. */
interface Question {
  readonly askedAt: number;
  readonly answeredAt: number;
  readonly isReady: boolean;
}

/** From a minute before, when all is known, on. */
function questionsOf({ pause, phase, delay, looksAt }: ValueOf<typeof asking>): readonly Question[] {
  const questions: Question[] = [];
  for (let askedAt = -130_000 - (phase % pause); askedAt < 160_000; ) {
    const answeredAt = askedAt + delay;
    questions.push({ askedAt, answeredAt, isReady: askedAt + delay * looksAt >= 0 });
    askedAt = answeredAt + pause;
  }
  return questions;
}

const steadyOf =
  ({ drift }: ValueOf<typeof clocks>) =>
  (time: number) =>
    500_000 + time * (1 + drift / 1_000_000);

function snapshotWith(b: string, metadata: Parameters<typeof snapshotOf>[1]) {
  const versions = { a: '1.36', b, c: '1.35' };
  const servers = Object.entries(versions).map(
    ([id, minor]) => [id, { serves, version: `v${minor}.0`, schemas: {} }] as const,
  );
  return snapshotOf(Object.fromEntries(servers), metadata);
}

/** The snapshots of before and after, and when the second is made. */
function readingOf(
  { clocks, questions, read, wasStarted }: ValueOf<typeof reader>,
  from: string,
  to: string,
) {
  const steady = steadyOf(clocks);
  const text = (time: number) => new Date(epoch + time + clocks.skew).toISOString();
  const all = questionsOf(questions);
  const first = all.find(({ isReady }) => isReady);
  assert.ok(first !== undefined);
  const notYet = all.filter(({ isReady, answeredAt }) => !isReady && answeredAt <= first.answeredAt).at(-1);
  const madeAt = first.answeredAt + read;
  const start = {
    readyAt: steady(first.answeredAt),
    notReadyAt: notYet && steady(notYet.askedAt),
  };
  const before = snapshotWith(from, { createdAt: text(-70_000) });
  const { servers } = snapshotWith(to, {});
  const changes = versionChanges(
    before,
    servers,
    { now: Date.parse(text(madeAt)), monotonic: steady(madeAt) },
    wasStarted ? new Map() : new Map([['b', start]]),
  );
  const after = snapshotWith(to, { generation: 2, createdAt: text(madeAt), versionChanges: changes });
  return { before, after, madeAt };
}

/** Where a router sends a write at a time, in milliseconds since `b` became ready; `undefined` while writes wait, or get 503. */
function routerOf(given: ValueOf<typeof router>, job: ValueOf<typeof reader>, from: string) {
  const to = from === '1.35' ? '1.36' : '1.35';
  const { before, after, madeAt } = readingOf(given.pushed === null ? given.reader : job, from, to);
  const knownAt = madeAt + (given.pushed ?? 0);
  const steady = steadyOf(given.clocks);
  const probes = questionsOf(given.probes);
  let time = -60_000;
  /** A probe confirms what the table in force says, and nothing else. */
  const confirmedAt = () => {
    const confirmed = probes.filter(
      ({ answeredAt, isReady }) => answeredAt <= time && isReady === answeredAt >= knownAt,
    );
    const last = confirmed.at(-1);
    return last && steady(last.askedAt);
  };
  const steadyClock = () => steady(time);
  const instants = new VersionInstants({
    steadyClock,
    serverConfirmedAt: (id) => (id === 'b' ? confirmedAt() : undefined),
  });
  let table = buildRoutingTable(before, undefined, instants.of(before));
  const settings = resolveOptions({
    routingTable: { current: () => table, confirmedAt },
    transport: recordingTransport(),
    steadyClock,
    monotonicClock: steadyClock,
  });
  const decider = new Decider(settings);
  return (at: number): string | undefined => {
    if (at >= knownAt && time < knownAt) {
      time = knownAt;
      table = buildRoutingTable(after, undefined, instants.of(after));
    }
    time = at;
    const seen = { ...write, view: decider.view() };
    if (heldBackFor(seen, settings) > 0 || isUnconfirmed(seen, settings)) return undefined;
    return preferredMinor(table, undefined, steadyClock());
  };
}

test('whatever clocks and delays do, no router sends to the version of before once another may have sent to the new one', () => {
  fc.assert(
    fc.property(cluster, ({ from, job, routers: given }) => {
      const routers = given.map((each) => routerOf(each, job, from));
      let lastBefore = Number.NEGATIVE_INFINITY;
      let firstAfter = Number.POSITIVE_INFINITY;
      for (let time = -1_000; time < 150_000; time += step) {
        for (const sent of routers.map((send) => send(time))) {
          if (sent === from) lastBefore = time;
          else if (sent !== undefined) firstAfter = Math.min(firstAfter, time);
        }
      }
      // A request to the version of before has its time to be carried out.
      assert.ok(firstAfter - lastBefore >= versionSettlesFor - 2 * step, `${lastBefore}, then ${firstAfter}`);
    }),
    { numRuns: 200 },
  );
});

const prompt: ValueOf<typeof asking> = { pause: 100, phase: 0, delay: 20, looksAt: 0.5 };
const goodClocks = { skew: 0, drift: 0 };

test('routers that ask a server as it starts wait for two seconds, and a little', () => {
  const watching = { clocks: goodClocks, questions: prompt, read: 400, wasStarted: false };
  const send = routerOf(
    { clocks: goodClocks, probes: prompt, pushed: null, reader: watching },
    watching,
    '1.35',
  );
  let wait = 0;
  let changedAt: number | undefined;
  for (let time = -1_000; time < 20_000; time += 50) {
    const sent = send(time);
    if (sent === undefined) wait += 50;
    if (sent === '1.36') changedAt ??= time;
  }
  assert.ok(wait >= 1_950 && wait <= 2_400, `${wait} ms`);
  assert.ok(changedAt !== undefined && changedAt >= 10_000 && changedAt <= 10_200, `${changedAt}`);
});

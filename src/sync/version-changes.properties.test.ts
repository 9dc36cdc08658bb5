import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { leaseOf } from '../../test/support/cluster-states.ts';
import { snapshotOf } from '../../test/support/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { untilVersionSettles } from '../routing/decide.ts';
import { preferredMinor } from '../routing/preferred-version.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { acquisition } from './leases.ts';
import { versionChanges } from './version-changes.ts';

const start = Date.UTC(2026, 0, 31);
const serves = ['v1/pods', 'autoscaling/v2/horizontalpodautoscalers'];
const write = parseRequestInfo('PUT', '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web');
/** Milliseconds between two looks at the routers. */
const step = 50;

/** How one router sees server `b` come back in another version. Milliseconds; all times count from the loss of `b`. */
const view = fc.record({
  /** Its clock is so much fast. */
  clockSkew: fc.integer({ min: -900, max: 900 }),
  /** It asked for the last time before, and for the first time after, `b` became ready, so long away from that. */
  askedBefore: fc.integer({ min: 0, max: 8_000 }),
  askedAfter: fc.integer({ min: 0, max: 4_000 }),
  /** From then on, until its snapshot says so. */
  read: fc.integer({ min: 0, max: 400 }),
  /** It has seen `b` say that it was starting. Else only that the process before was there. */
  sawItStart: fc.boolean(),
  /** It saw the Lease change hands; else it lists the Lease once it reads `b`, so that several renewals may have passed. */
  watchesLeases: fc.boolean(),
  /** It was started while `b` was away, or after: it has seen nothing of it. */
  wasStarted: fc.boolean(),
});

const cluster = fc.record({
  /** The Lease is acquired, and so long after that the server is ready. */
  leaseAt: fc.integer({ min: 1_000, max: 60_000 }),
  readyAfter: fc.integer({ min: 0, max: 90_000 }),
  /** As 1.35 and newer do when they are stopped in order. */
  leaseIsMadeAnew: fc.boolean(),
  from: fc.constantFrom('1.35', '1.36'),
  routers: fc.array(view, { minLength: 2, maxLength: 4 }),
});

type Cluster = typeof cluster extends fc.Arbitrary<infer Value> ? Value : never;

function snapshotWith(b: string, metadata: Parameters<typeof snapshotOf>[1]) {
  const versions = { a: '1.36', b, c: '1.35' };
  const servers = Object.entries(versions).map(
    ([id, minor]) => [id, { serves, version: `v${minor}.0`, schemas: {} }] as const,
  );
  return snapshotOf(Object.fromEntries(servers), metadata);
}

/** Where a router sends a write at a time, in milliseconds since the loss of `b`; `undefined` while writes wait. */
function routerOf(
  { leaseAt, readyAfter, leaseIsMadeAnew, from }: Cluster,
  seen: typeof view extends fc.Arbitrary<infer V> ? V : never,
) {
  const to = from === '1.35' ? '1.36' : '1.35';
  const readyAt = leaseAt + readyAfter;
  const own = (time: number) => start + time + seen.clockSkew;
  const knownAt = readyAt + seen.askedAfter + seen.read;
  const previous = snapshotWith(from, { createdAt: new Date(own(-1_000)).toISOString() });
  const renewedAt = start + leaseAt + Math.max(0, Math.floor((knownAt - leaseAt) / 10_000)) * 10_000;
  const createdAt = leaseIsMadeAnew ? start + leaseAt : start - 3_600_000;
  const lease = leaseOf('b', { renewedAt: seen.watchesLeases ? start + leaseAt : renewedAt, createdAt });
  const acquired = acquisition(lease, seen.watchesLeases ? own(leaseAt - 5_000) : undefined);
  const notReadyAt = seen.sawItStart ? Math.max(leaseAt, readyAt - seen.askedBefore) : undefined;
  const starts = new Map([
    [
      'b',
      {
        lostAt: own(500),
        notReadyAt: notReadyAt === undefined ? undefined : own(Math.min(notReadyAt, readyAt)),
        readyAt: own(readyAt + seen.askedAfter),
      },
    ],
  ]);
  const { servers } = snapshotWith(to, {});
  const changes = versionChanges(
    previous,
    servers,
    [{ id: 'b', acquired }],
    own(knownAt),
    seen.wasStarted ? new Map() : starts,
  );
  const tables = [
    buildRoutingTable(previous),
    buildRoutingTable(snapshotWith(to, { versionChanges: changes })),
  ] as const;
  return (time: number): string | undefined => {
    // Whoever was started reads first.
    if (seen.wasStarted && time < knownAt) return undefined;
    const table = tables[time < knownAt ? 0 : 1];
    const now = own(time);
    return untilVersionSettles(write, table, { now }) > 0 ? undefined : preferredMinor(table, undefined, now);
  };
}

const seenAtOnce = {
  clockSkew: 0,
  askedBefore: 0,
  askedAfter: 0,
  read: 0,
  sawItStart: false,
  watchesLeases: false,
  wasStarted: false,
};

/** By a clock that is a millisecond late the Lease that was listed is from the future: it is a Lease all the same. */
const leaseFromTheFuture: Cluster = {
  leaseAt: 1_000,
  readyAfter: 56_669,
  leaseIsMadeAnew: false,
  from: '1.35',
  routers: [{ ...seenAtOnce, clockSkew: -1, askedAfter: 2_980, read: 351, sawItStart: true }, seenAtOnce],
};

test('however differently routers see a server come back, none sends to the version of before once another sends to the new one', () => {
  fc.assert(
    fc.property(cluster, (given) => {
      const routers = given.routers.map((seen) => routerOf(given, seen));
      const { leaseAt, readyAfter, from } = given;
      const readyAt = leaseAt + readyAfter;
      let hasChanged = false;
      const waits = routers.map(() => 0);
      for (let time = readyAt - 1_000; time < readyAt + 20_000; time += step) {
        const sent = routers.map((router) => router(time));
        if (sent.some((minor) => minor !== undefined && minor !== from)) hasChanged = true;
        assert.ok(
          !hasChanged || !sent.includes(from),
          `${time - readyAt} ms after it was ready: ${sent.join(', ')}`,
        );
        for (const [index, minor] of sent.entries())
          if (minor === undefined) waits[index] = (waits[index] ?? 0) + step;
      }
      assert.ok(hasChanged, 'all change in the end');
      assert.ok(Math.max(...waits) <= 17_000, `none waits for long: ${waits.join(', ')}`);
    }),
    { numRuns: 300, examples: [[leaseFromTheFuture]] },
  );
});

test('routers that watch a server come back wait for two seconds, and a little', () => {
  fc.assert(
    fc.property(cluster, (given) => {
      const seen = { askedBefore: 150, askedAfter: 150, read: 400, sawItStart: true, watchesLeases: true };
      const router = routerOf(given, { ...seen, clockSkew: 0, wasStarted: false });
      const readyAt = given.leaseAt + given.readyAfter;
      let wait = 0;
      for (let time = readyAt; time < readyAt + 20_000; time += step)
        if (router(time) === undefined) wait += step;
      assert.ok(wait >= 1_950 && wait <= 2_350, `${wait} ms`);
    }),
  );
});

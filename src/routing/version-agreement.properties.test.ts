import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { snapshotOf } from '../../test/support/snapshots/snapshot-builder.ts';
import { parseRequestInfo } from '../apimachinery/request-info.ts';
import { buildRoutingTable } from '../snapshot/routing-table/build-routing-table.ts';
import { stepAt } from '../snapshot/routing-table/served-by.ts';
import {
  confirmedWithin,
  countsAfter,
  type TimedChange,
  versionSettlesFor,
} from '../snapshot/routing-table/version-instants.ts';
import { decide, untilVersionSettles } from './decide.ts';

const serves = ['v1/pods', 'autoscaling/v2/horizontalpodautoscalers'];
const write = parseRequestInfo('PUT', '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web');
const step = 400;

/** Milliseconds for which a server is away at least between two processes. */
const away = 2_200;

/** A process of a server: ready some time after the one before, and for so long that each router hears of it. */
const processes = fc.array(
  fc.record({
    after: fc.integer({ min: confirmedWithin + away + 300, max: 20_000 }),
    away: fc.integer({ min: away, max: away + 300 }),
    minor: fc.constantFrom('1.35', '1.36', '1.37'),
  }),
  { maxLength: 4 },
);

const cluster = fc.record({
  servers: fc.record({ a: processes, b: processes, c: processes }),
  preferredVersion: fc.constantFrom('majority', 'newest', 'oldest', '1.36'),
  /** Milliseconds until each router knows a process that is ready: one that knows it later has stopped (`confirmedWithin`). */
  delays: fc.array(fc.array(fc.integer({ min: 0, max: confirmedWithin }), { minLength: 12, maxLength: 12 }), {
    minLength: 2,
    maxLength: 3,
  }),
});

type Cluster = typeof cluster extends fc.Arbitrary<infer Value> ? Value : never;

interface Process {
  readonly server: string;
  readonly minor: string;
  readonly readyAt: number;
  readonly endsAt: number;
}

function processesOf({ servers }: Cluster): readonly Process[] {
  return Object.entries(servers).flatMap(([server, given]) => {
    let readyAt = Number.NEGATIVE_INFINITY;
    const all = [{ minor: '1.35', away: 0, after: 0 }, ...given].map((each, index) => {
      readyAt = index === 0 ? Number.NEGATIVE_INFINITY : Math.max(readyAt, 0) + each.after;
      return { server, minor: each.minor, readyAt, away: each.away };
    });
    return all.map((each, index) => {
      const next = all[index + 1];
      return { ...each, endsAt: next === undefined ? Number.POSITIVE_INFINITY : next.readyAt - next.away };
    });
  });
}

/** The table that a router makes of the processes it knows. */
function tableOf(known: readonly (Process & { readonly knownAt: number })[]) {
  const current = new Map<string, string>();
  const changes: TimedChange[] = [];
  for (const { server, minor, readyAt, knownAt } of known.toSorted(
    (one, other) => one.readyAt - other.readyAt,
  )) {
    const from = current.get(server);
    current.set(server, minor);
    if (from === undefined || from === minor) continue;
    const until = knownAt + countsAfter + versionSettlesFor;
    changes.push({ server, from, to: minor, until, waitFrom: readyAt + countsAfter });
  }
  const servers = [...current].map(
    ([id, minor]) => [id, { serves, version: `v${minor}.0`, schemas: {} }] as const,
  );
  return {
    current,
    changes,
    table: buildRoutingTable(snapshotOf(Object.fromEntries(servers)), undefined, changes),
  };
}

/** The version to which one router sends writes at a time; `undefined`: they wait, bear a warning, or nobody is there. */
function routerOf(
  all: readonly Process[],
  delays: readonly number[],
  preferredVersion: Cluster['preferredVersion'],
) {
  const known = all.map((each, index) => ({
    ...each,
    knownAt: each.readyAt + (delays[index % delays.length] ?? 0),
  }));
  /** By how many processes are known: only another one makes another table. */
  const tables = new Map<number, ReturnType<typeof tableOf>>();
  const tableAt = (at: number) => {
    const now = known.filter(({ knownAt }) => knownAt <= at);
    const table = tables.get(now.length) ?? tableOf(now);
    tables.set(now.length, table);
    return table;
  };
  return (at: number): string | undefined => {
    const { table, current } = tableAt(at);
    if (untilVersionSettles(write, table, { now: at, preferredVersion }) > 0) return undefined;
    const context = { now: at, preferredVersion, serverId: undefined, reroutedByVerifiedPeer: false };
    const decision = decide(write, table, context);
    assert.ok(decision.decision === 'peer');
    const { candidates, versions } = decision;
    // The response has a warning.
    if (versions !== undefined && versions.asked !== versions.preferred) return undefined;
    const isThere = ({ id }: { readonly id: string }) =>
      all.some(
        ({ server, minor, readyAt, endsAt }) =>
          server === id && minor === current.get(id) && readyAt <= at && at < endsAt,
      );
    const step = table.comparison && stepAt(table.comparison, at);
    const chosen = candidates.find(isThere);
    // `comesTooSoon`: others may not know the version of this one.
    const comesTooSoon = chosen !== undefined && step?.untold.has(chosen.id) === true;
    return comesTooSoon && table.servers.some(({ id }) => !step.uncounted.has(id))
      ? undefined
      : chosen?.minor;
  };
}

test('whatever servers become before they count, no two routers write to two versions within the settling time', () => {
  fc.assert(
    fc.property(cluster, (given) => {
      const all = processesOf(given);
      const routers = given.delays.map((each) => routerOf(all, each, given.preferredVersion));
      const last = new Map<string, number>();
      for (let time = 0; time < 60_000; time += step) {
        for (const sent of new Set(routers.map((send) => send(time)))) {
          if (sent === undefined) continue;
          last.set(sent, time);
          for (const [version, at] of last)
            assert.ok(
              version === sent || time - at >= versionSettlesFor - 2 * step,
              `${sent} at ${time}, ${version} at ${at}`,
            );
        }
      }
    }),
    { numRuns: 500 },
  );
});

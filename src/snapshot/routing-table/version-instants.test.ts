import assert from 'node:assert/strict';
import { test } from 'node:test';
import { snapshotOf } from '../../../test/support/snapshots/snapshot-builder.ts';
import { VersionInstants, versionSettlesFor } from './version-instants.ts';

const made = Date.UTC(2026, 0, 31);
const text = (seconds: number) => new Date(made + seconds * 1_000).toISOString();
const change = { server: 'b', from: '1.35', to: '1.36' };

/** A snapshot of a cluster in which `b` has changed. @param at, waitFrom seconds after its making */
function snapshotAt(at: number, waitFrom: number, generation = 1, after = 0) {
  return snapshotOf(
    { a: ['v1/pods'], b: ['v1/pods'] },
    {
      generation,
      createdAt: text(after),
      versionChanges: [{ ...change, at: text(at), waitFrom: text(waitFrom) }],
    },
  );
}

/** A process whose clock shows `now`, in seconds. */
function processAt(now: number, confirmedAt?: () => number | undefined) {
  let time = now;
  const instants = new VersionInstants({
    steadyClock: () => time * 1_000,
    ...(confirmedAt && { serverConfirmedAt: () => (confirmedAt() ?? Number.NaN) * 1_000 || undefined }),
  });
  return {
    take: (...given: Parameters<typeof snapshotAt>) =>
      instants.of(snapshotAt(...given)).map(({ until, waitFrom }) => [until / 1_000, waitFrom / 1_000]),
    pass: (seconds: number) => (time += seconds),
  };
}

test('a change counts as far after its snapshot came as that says it lies ahead, whatever the clocks show', () => {
  assert.deepEqual(processAt(500).take(9, 7), [[509, 507]]);
});

test('it stays where it is when later snapshots tell of it', () => {
  const { take, pass } = processAt(500);
  take(9, 7);
  pass(4);
  // This one was longer under way than the first.
  assert.deepEqual(take(9, 7, 2, 2), [[509, 507]]);
});

test('waiting begins when another router may have heard of it, at the latest two seconds before', () => {
  assert.deepEqual(processAt(500, () => 493).take(9, 8), [[509, 501]]);
  assert.deepEqual(processAt(500, () => 499.9).take(9, 8), [[509, 509 - versionSettlesFor / 1_000]]);
  assert.deepEqual(processAt(500, () => undefined).take(9, 7), [[509, 500]], 'it has heard nothing');
});

test('a change that lies further ahead than any may, as after a clock was set, counts after ten seconds', () => {
  assert.deepEqual(processAt(500).take(3_600, 3_598), [[510, 508]]);
  assert.deepEqual(processAt(500).take(-3_600, -3_602)[0]?.[0], 510);
});

test('one that lies behind counts at once', () => {
  assert.equal(processAt(500).take(-20, -22)[0]?.[0], 500);
});

test('two changes of one server that are written at the same instant stay two', () => {
  const first = { ...change, at: text(9) };
  const second = { server: 'b', from: '1.36', to: '1.37', at: text(9) };
  let now = 500_000;
  const instants = new VersionInstants({ steadyClock: () => now });
  const take = (...versionChanges: { server: string; from: string; to: string; at: string }[]) =>
    instants
      .of(snapshotOf({ a: ['v1/pods'], b: ['v1/pods'] }, { createdAt: text(0), versionChanges }))
      .map(({ from, to }) => [from, to]);
  take(first);
  now += 20_000;
  for (let time = 0; time < 2; time++) {
    assert.deepEqual(take(first, second), [
      ['1.35', '1.36'],
      ['1.36', '1.37'],
    ]);
  }
});

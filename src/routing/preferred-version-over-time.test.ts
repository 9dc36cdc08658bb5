import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  autoscalers,
  decided,
  decisionAt,
  pods,
  server,
  tableOf,
  twoOldOneNew,
} from '../../test/support/clusters/versioned-servers.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import type { PreferredVersion } from './decision.ts';
import { comingPreference, goesElsewhere, preferredMinor } from './preferred-version.ts';

describe('a watch', () => {
  const target = '/apis/autoscaling/v2/horizontalpodautoscalers?watch=true';
  const early = tableOf(twoOldOneNew);
  const late = tableOf({ a: server('1.31'), b: server('1.36'), c: server('1.36') });
  const moves = (table: RoutingTable, router: string, at: string) =>
    goesElsewhere(decisionAt(early, router, target), decisionAt(table, router, target), at, at === router);

  test('moves from a server when another version is to answer, and stays while it is the one', () => {
    assert.equal(moves(early, 'a', 'a'), false);
    assert.equal(moves(late, 'a', 'a'), true, 'from the local server to a peer');
    assert.equal(moves(early, 'c', 'a'), false);
    assert.equal(moves(late, 'c', 'a'), true, 'from a peer to the local server');
  });

  test('that went to a peer while all were alike moves to the local server when that has the version that responds', () => {
    const alike = tableOf({ a: server('1.31'), b: server('1.31'), c: server('1.31') });
    const before = decisionAt(alike, 'c', target);
    const now = decisionAt(late, 'c', target);
    assert.deepEqual([before.decision, now.decision], ['local', 'local']);
    // The local server was down when it was opened.
    assert.equal(goesElsewhere(before, now, 'a', false, true), true);
    assert.equal(goesElsewhere(before, now, 'b', false, false), false, 'a peer of the same version');
  });

  test('on what does not differ stays', () => {
    const podsAt = (table: RoutingTable) => decisionAt(table, 'a', `${pods}?watch=true`);
    assert.equal(goesElsewhere(podsAt(early), podsAt(late), 'a', true), false);
  });
});

describe('a change of a moment ago', () => {
  const start = Date.UTC(2026, 0, 31);
  const at = (seconds: number) => new Date(start + seconds * 1_000).toISOString();
  /** Two of three have been upgraded: c counts from the tenth second on, b from the twentieth. */
  const versionChanges = [
    { server: 'b', from: '1.35', to: '1.36', at: at(20) },
    { server: 'c', from: '1.35', to: '1.36', at: at(10) },
  ];
  const servers = { a: server('1.35'), b: server('1.36'), c: server('1.36') };
  const table = tableOf(servers, { versionChanges });
  const answering = (version: PreferredVersion, seconds: number) =>
    ['a', 'b', undefined].map((serverId) => {
      const { decision, candidates } = decisionAt(table, serverId, autoscalers, {
        version,
        now: start + seconds * 1_000,
      });
      return decision === 'local' ? serverId : candidates.map(({ id }) => id).join();
    });

  test('counts at its instant, at every router: until then the version of before goes on', () => {
    for (const seconds of [0, 10, 19.999]) assert.deepEqual(answering('majority', seconds), ['a', 'a', 'a']);
    for (const seconds of [20, 100]) assert.deepEqual(answering('majority', seconds), ['b,c', 'b', 'b,c']);
    assert.deepEqual(answering('newest', 9.999), ['a', 'a', 'a']);
    // b has been upgraded, and does not count yet: another router may not know it.
    for (const seconds of [10, 19.999]) assert.deepEqual(answering('newest', seconds), ['c', 'c', 'c']);
    assert.deepEqual(answering('newest', 20), ['b,c', 'b', 'b,c']);
    assert.deepEqual(answering('1.36', 9.999), ['a', 'a', 'a']);
    assert.deepEqual(answering('oldest', 100), ['a', 'a', 'a']);
  });

  test('is told before: the version, and from when on', () => {
    const majority = 'majority';
    assert.deepEqual(comingPreference(table, majority, start), {
      minor: '1.36',
      at: start + 20_000,
      waitFrom: start + 18_000,
    });
    assert.equal(comingPreference(table, majority, start + 20_000), undefined);
    assert.deepEqual(comingPreference(table, 'newest', start), {
      minor: '1.36',
      at: start + 10_000,
      waitFrom: start + 8_000,
    });
    assert.equal(comingPreference(table, 'oldest', start), undefined);
  });

  test('is waited for where nobody knows what others go by, though the version stays', () => {
    const unknown = ['a', 'b', 'c'].map((id) => ({
      server: id,
      to: id === 'a' ? '1.35' : '1.36',
      at: at(10),
    }));
    const begun = tableOf(servers, { versionChanges: unknown });
    assert.deepEqual(comingPreference(begun, 'majority', start), {
      minor: '1.36',
      at: start + 10_000,
      waitFrom: Number.NEGATIVE_INFINITY,
    });
    assert.equal(comingPreference(begun, 'majority', start + 10_000), undefined);
  });

  test('is waited for while another router may go by it, though this one never does', () => {
    // This router learned late that b was upgraded. Another one, which has known it for long, counts b before c goes back.
    const late = tableOf(
      { ...servers, c: server('1.35') },
      {
        versionChanges: [
          { server: 'c', from: '1.36', to: '1.35', at: at(10), waitFrom: at(8) },
          { server: 'b', from: '1.35', to: '1.36', at: at(12), waitFrom: at(2) },
        ],
      },
    );
    for (const seconds of [0, 12])
      assert.equal(preferredMinor(late, 'majority', start + seconds * 1_000), '1.35');
    assert.deepEqual(comingPreference(late, 'majority', start), {
      minor: '1.35',
      at: start + 10_000,
      waitFrom: start + 2_000,
    });
  });

  test('does not hold up a request where no server of the version of before is left', () => {
    const gone = tableOf({ ...servers, a: { ...servers.a, withoutAddress: true } }, { versionChanges });
    assert.equal(decided(gone, 'b', autoscalers, { now: start }), 'peer PreferredVersion b,c');
  });
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mayStillServe } from '../health/health-state.ts';
import type { VersionChoice } from '../routing/decision.ts';
import type { RoutingServer } from '../snapshot/routing-table/routing-table.ts';
import { type Candidates, ServerChoice, ServerLoad } from './server-choice.ts';

const server = (id: string, minor: string): RoutingServer => ({
  id,
  origin: `https://${id}.example:6443`,
  serverName: 'kubernetes.default.svc',
  version: `v${minor}.0`,
  minor,
  stale: false,
  departed: false,
});
const preferred = server('preferred', '1.33');
const newer = server('newer', '1.36');
const older = server('older', '1.31');
const version = (one: RoutingServer) => ({
  minor: one.minor,
  serverIds: new Set([one.id]),
  reachable: [one],
});
const byVersion = (changes: Partial<VersionChoice> = {}): Candidates => ({
  candidates: [preferred],
  versions: {
    preferred: '1.33',
    asked: '1.33',
    others: [version(newer), version(older)],
    ofEveryServer: false,
    ...changes,
  },
});

interface Circumstances {
  readonly inFlight?: Readonly<Record<string, number>>;
  readonly avoided?: readonly string[];
  readonly restarting?: readonly string[];
  readonly slow?: readonly string[];
}

function choiceWith(
  { inFlight = {}, avoided = [], restarting = [], slow = [] }: Circumstances = {},
  random: () => number = () => 0,
) {
  return new ServerChoice({
    load: { inFlight: (id) => inFlight[id] ?? 0, isAvoided: (id) => avoided.includes(id) },
    health: {
      mayBeAsked: (id) => (restarting.includes(id) ? 'not' : 'first'),
      is: (id, holds) => holds === mayStillServe && slow.includes(id),
    },
    random,
  });
}

test('a healthy server of the preferred version is asked, without a word about versions', () => {
  const chosen = choiceWith().choose(byVersion());
  assert.equal(chosen?.server.id, 'preferred');
  assert.equal(chosen?.otherVersion, undefined);
});

test('one that has become unhealthy a moment ago, and that others may still ask, is asked before another version', () => {
  const chosen = choiceWith({ avoided: ['preferred'], slow: ['preferred'] }).choose(byVersion());
  assert.deepEqual([chosen?.server.id, chosen?.otherVersion], ['preferred', undefined]);
});

test('without one, the next healthy version is asked, newer ones first', () => {
  const withoutPreferred = choiceWith({ avoided: ['preferred'] }).choose(byVersion());
  assert.equal(withoutPreferred?.server.id, 'newer');
  assert.deepEqual(withoutPreferred?.otherVersion, { minor: '1.36', isOlder: false });
  const onlyOlder = choiceWith({ avoided: ['preferred', 'newer'] }).choose(byVersion());
  assert.deepEqual(onlyOlder?.otherVersion, { minor: '1.31', isOlder: true });
});

test('with no healthy server at all the preferred version is tried: its /readyz may be wrong', () => {
  const chosen = choiceWith({ avoided: ['preferred', 'newer', 'older'] }).choose(byVersion());
  assert.equal(chosen?.server.id, 'preferred');
});

test('an older version is asked when no other is left', () => {
  const choice = choiceWith({ restarting: ['preferred', 'newer'] });
  assert.equal(choice.choose(byVersion())?.server.id, 'older');
});

test('the second try does not ask the same server, and may ask another version', () => {
  assert.equal(choiceWith().choose(byVersion(), preferred)?.server.id, 'newer');
});

test('a request is in flight until its end, which counts once', () => {
  const load = new ServerLoad(() => 0);
  const end = load.begin('a');
  const endOther = load.begin('a');
  assert.equal(load.inFlight('a'), 2);
  end();
  end();
  assert.equal(load.inFlight('a'), 1);
  endOther();
  assert.equal(load.inFlight('a'), 0);
});

test('a server that could not be reached is avoided for a while, or until it answers', () => {
  let now = 0;
  const load = new ServerLoad(() => now);
  load.notReached('a');
  load.notReached('b');
  assert.equal(load.isAvoided('a'), true);
  load.reached('a');
  assert.equal(load.isAvoided('a'), false);
  assert.equal(load.isAvoided('b'), true);
  now = 5_000;
  assert.equal(load.isAvoided('b'), false);
});

const serverCalled = (id: string): RoutingServer => ({
  id,
  origin: `https://${id}.example:6443`,
  serverName: 'kubernetes.default.svc',
  version: undefined,
  minor: undefined,
  stale: false,
  departed: false,
});
const [a, b, c] = [serverCalled('a'), serverCalled('b'), serverCalled('c')];
const chosenOf = (
  candidates: readonly RoutingServer[],
  circumstances: Circumstances,
  random: () => number = () => 0,
  except?: RoutingServer,
) => choiceWith(circumstances, random).choose({ candidates }, except)?.server;

test('of two drawn servers the one with fewer requests in flight is taken', () => {
  for (const draw of [0, 0.49, 0.51, 0.99]) {
    assert.equal(
      chosenOf([a, b], { inFlight: { a: 5, b: 1 } }, () => draw),
      b,
    );
  }
});

test('equal load is spread by the draw', () => {
  assert.equal(chosenOf([a, b, c], {}), a);
  assert.equal(
    chosenOf([a, b, c], {}, () => 0.99),
    c,
  );
});

test('a server that could not be reached is taken only when nothing else is left', () => {
  assert.equal(chosenOf([a, b], { inFlight: { b: 99 }, avoided: ['a'] }), b);
  assert.notEqual(chosenOf([a, b], { avoided: ['a', 'b'] }), undefined);
});

test('the server that was tried already is never taken again', () => {
  assert.equal(
    chosenOf([a], {}, () => 0, a),
    undefined,
  );
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(a, b, c), { minLength: 1 }),
      fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { minLength: 2, maxLength: 2 }),
      fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
      (candidates, draws, avoided) => {
        let draw = 0;
        const random = () => draws[draw++ % 2] as number;
        const chosen = chosenOf(candidates, { avoided }, random, candidates[0]);
        assert.notEqual(chosen, candidates[0]);
        assert.equal(chosen === undefined, candidates.length === 1);
      },
    ),
  );
});

test('somebody is always chosen, whatever health says', () => {
  const share = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.constantFrom(a, b, c), { minLength: 1 }),
      fc.infiniteStream(share),
      fc.uniqueArray(fc.constantFrom('a', 'b', 'c')),
      (candidates, draws, avoided) => {
        const random = () => draws.next().value as number;
        const chosen = chosenOf(candidates, { avoided }, random);
        assert.ok(chosen !== undefined && candidates.includes(chosen));
      },
    ),
  );
});

import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VersionChoice } from '../../routing/decision.ts';
import type { RoutingServer } from '../../snapshot/routing-table/routing-table.ts';
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
    neverOlder: false,
    ofEveryServer: false,
    ...changes,
  },
});

function choiceWith({ avoided = [], restarting = [] }: Record<string, readonly string[]>) {
  const mayBeAsked = (id: string) =>
    restarting.includes(id) ? 'not' : avoided.includes(id) ? 'last' : 'first';
  return new ServerChoice({
    state: { inFlight: () => 0, mayBeAsked, weight: () => 1 },
    random: () => 0,
    local: undefined,
  });
}

test('a healthy server of the preferred version is asked, without a word about versions', () => {
  const chosen = choiceWith({}).choose(byVersion());
  assert.equal(chosen?.server.id, 'preferred');
  assert.equal(chosen?.otherVersion, undefined);
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

test('an older version is never asked where it must not be', () => {
  const choice = choiceWith({ restarting: ['preferred', 'newer'] });
  assert.equal(choice.choose(byVersion())?.server.id, 'older');
  assert.equal(choice.choose(byVersion({ neverOlder: true })), undefined);
  assert.equal(choice.isHeldBack(byVersion({ neverOlder: true })), true);
  assert.equal(choiceWith({}).isHeldBack(byVersion({ neverOlder: true })), false);
});

test('the second try does not ask the same server, and may ask another version', () => {
  assert.equal(choiceWith({}).choose(byVersion(), preferred)?.server.id, 'newer');
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
